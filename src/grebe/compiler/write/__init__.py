"""The write strategies: how a change of the root becomes rows to insert, update and delete."""

"""Streams: events become rows of a table, each event once."""

"""Delta tables: sources read from the log, storage moved by one commit."""

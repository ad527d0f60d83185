"""Folders of Parquet files, as sources."""

"""Views in DuckLake with DuckDB alone."""

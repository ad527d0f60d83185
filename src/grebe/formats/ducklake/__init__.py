"""DuckLake tables, in catalogs kept by DuckDB, SQLite or PostgreSQL."""

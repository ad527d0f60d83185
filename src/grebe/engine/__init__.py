"""The room that does things: everything here needs Spark, files or processes."""

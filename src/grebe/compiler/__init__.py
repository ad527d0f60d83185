"""The pure compiler: SQL and schemas in, an exact plan out. No Spark, no I/O."""

"""Declarative definitions, run and compared with the SQL that means the same."""

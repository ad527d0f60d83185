"""Declarative definitions: `{"$type": …, "$from": …}` becomes the SQL that means the same."""

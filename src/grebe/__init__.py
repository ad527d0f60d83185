"""Materialized views on the open lakehouse, kept equal to their query at the cost of what changed."""

from grebe.errors import GrebeError
from grebe.model import Outcome, Policy, TableName, Window

__all__ = ["GrebeError", "Outcome", "Policy", "TableName", "Window"]

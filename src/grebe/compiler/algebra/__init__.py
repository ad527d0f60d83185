"""Relational algebra and scalar expressions: nodes, what is provable of them, and how trees are rewritten."""

"""The machinery of the compiler's laws: random databases, random queries, and what compares them."""

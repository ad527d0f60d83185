"""What runs inside Spark's Python workers: standard library and Arrow only, shipped by value.

Nothing in here imports the rest of the package, which need not be installed where it runs.
"""

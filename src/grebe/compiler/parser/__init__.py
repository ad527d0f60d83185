"""Text to trees: the dialects with their known misreadings mended, every expression with its place."""

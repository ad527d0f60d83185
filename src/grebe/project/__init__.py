"""The views of a folder: their definitions, their life, their status."""

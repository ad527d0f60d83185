"""Views in DuckLake without Spark: run what `compile_ivm` gives, in order, and know what waits."""

from grebe.ducklake.extensions import extension_file, load_extensions

__all__ = ["extension_file", "load_extensions"]

"""Views in DuckLake without Spark: run what `compile_ivm` gives, in order, and know what waits."""

from grebe.ducklake.extensions import extension_file, load_extensions
from grebe.ducklake.judge import same_to
from grebe.ducklake.views import Maintained, Views

__all__ = ["Maintained", "Views", "extension_file", "load_extensions", "same_to"]

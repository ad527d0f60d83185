"""The Python face: a project and its views. Loads neither Spark nor a database by itself."""

from grebe.api.project import Project
from grebe.api.view import View

__all__ = ["Project", "View"]

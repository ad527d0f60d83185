"""What a project is told: grebe.toml and GREBE_* variables -> settings; names -> tables."""

from grebe.config.load_settings import cache_folder, load, read_site
from grebe.config.settings_model import (
    DEFAULT_SCHEMA,
    EMBEDDED_CATALOG,
    FILE_NAME,
    HOME_NAME,
    PLACE_NAME,
    CatalogSettings,
    Defaults,
    Identity,
    Journal,
    Settings,
    Site,
    Spark,
    StorageSettings,
    StreamSettings,
    ViewSettings,
)
from grebe.config.table_names import split_name

__all__ = [
    "DEFAULT_SCHEMA",
    "EMBEDDED_CATALOG",
    "FILE_NAME",
    "HOME_NAME",
    "PLACE_NAME",
    "CatalogSettings",
    "Defaults",
    "Identity",
    "Journal",
    "Settings",
    "Site",
    "Spark",
    "StorageSettings",
    "StreamSettings",
    "ViewSettings",
    "cache_folder",
    "load",
    "read_site",
    "split_name",
]

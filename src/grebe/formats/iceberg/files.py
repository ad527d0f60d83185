"""The names of `formats.files` under which they were known when only Iceberg used them."""

from grebe.formats.files import DriverFiles as DriverFiles
from grebe.formats.files import Files as Files
from grebe.formats.files import SparkFiles as SparkFiles
from grebe.formats.files import local_path as local_path

"""Writes src/grebe/spark/jars.lock anew from the Maven coordinates (`make lock`).

Jars that PySpark ships itself are left out: Spark loads its own copy first in any case.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

import pyspark

from grebe.spark.jars import LOCK, resolve
from grebe.spark.java import find_java


def artifact(file_name: str) -> str:
    """The artifact's name: the file name up to its version."""
    return re.sub(r"-\d[\w.]*(-[\w.]+)?\.jar$", "", file_name)


def main() -> None:
    """Resolves, leaves out what Spark has, writes the lock."""
    shipped = {artifact(file.name) for file in Path(pyspark.__path__[0], "jars").glob("*.jar")}
    with tempfile.TemporaryDirectory() as scratch:
        found = resolve(find_java(), {}, Path(scratch))
        lines = [
            f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n"
            for jar in sorted(found.glob("*.jar"))
            if artifact(jar.name.partition("_")[2]) not in shipped
        ]
    LOCK.write_text("".join(lines), encoding="utf-8")
    print(f"{LOCK.name}: {len(lines)} jars")


if __name__ == "__main__":
    main()

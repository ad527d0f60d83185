"""`make bench`: every bench_*.py of this folder, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    failed = 0
    for file in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"--- {file.stem}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{file.stem}"], check=False)
        failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

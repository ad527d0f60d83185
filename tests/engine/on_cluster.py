"""The shop on a Spark cluster, as a program of its own; an executor dies in the middle of a run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from engine.over_connect import tell
from engine.shop import Shop
from grebe.config import load
from grebe.engine import refresh
from grebe.engine.session import open_session


def main(folder: Path, master: str) -> None:
    """Build, change, refresh while an executor is killed, and compare."""
    (folder / "grebe.toml").write_text(
        f'[spark]\nmaster = "{master}"\n[spark.conf]\n"spark.executor.memory" = "768m"\n'
    )
    settings = load(folder, {})
    spark = open_session(settings)
    shop = Shop.opened(spark, settings, "shop", orders=100)
    shop.define("by_nation", "late", "ranked", "days", "best")
    tell(spark, shop.refreshed())
    shop.batch(0)
    killed = dies_when_reached("refresh.deltas", spark.sparkContext.applicationId)
    tell(spark, shop.refreshed())
    sys.stdout.write(f"killed {len(killed)}\n")
    shop.batch(1)
    tell(spark, shop.refreshed(jobs=2))
    spark.stop()


def dies_when_reached(place: str, application: str) -> list[int]:
    """Kills one executor when a refresh first reaches a place; the list says which."""
    killed: list[int] = []
    plain = refresh.reach

    def reach(name: str) -> None:
        if name == place and not killed:
            victim = executors(application)[0]
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)
        plain(name)

    refresh.reach = reach  # type: ignore[attr-defined]
    return killed


def executors(application: str) -> list[int]:
    """The processes of an application's executors on this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found.append(int(folder.name))
    return sorted(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

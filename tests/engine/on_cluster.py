"""The shop on a Spark cluster, as a program of its own.

An executor dies in the middle of a run; or slow tasks are started twice, and one of the two counts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from benchmarks.eventlog import event_log_conf
from engine.over_connect import tell
from engine.shop import Shop
from grebe.config import load
from grebe.engine import refresh
from grebe.spark.session import open_session

EAGER = {
    "spark.speculation": "true",
    "spark.speculation.interval": "5ms",
    "spark.speculation.minTaskRuntime": "5ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.task.duration.threshold": "300ms",
}
"""A task that takes longer than others, or than this, is started again beside itself."""
PAUSE_SECONDS = 2.0


def main(folder: Path, master: str, fault: str) -> None:
    """Build, change, refresh while the fault happens, and compare."""
    log = folder / "events"
    conf = {"spark.executor.memory": "768m"}
    conf |= EAGER | event_log_conf(log) if fault == "twice" else {}
    lines = "\n".join(f'"{key}" = "{value}"' for key, value in conf.items())
    (folder / "grebe.toml").write_text(f'[spark]\nmaster = "{master}"\n[spark.conf]\n{lines}\n')
    settings = load(folder, {})
    spark = open_session(settings)
    shop = Shop.opened(spark, settings, "shop", orders=100)
    shop.define("by_nation", "late", "ranked", "days", "best")
    tell(spark, shop.refreshed())
    shop.batch(0)
    killed, application = [], spark.sparkContext.applicationId
    if fault == "killed":
        killed = dies_when_reached("refresh.deltas", application)
    else:
        halts_when_reached(("refresh.deltas", "refresh.computed"), application)
    tell(spark, shop.refreshed())
    if fault == "killed":
        sys.stdout.write(f"killed {len(killed)}\n")
    shop.batch(1)
    tell(spark, shop.refreshed(jobs=2))
    spark.stop()
    if fault == "twice":
        sys.stdout.write(f"twice {started_twice(log)}\n")


def started_twice(log: Path) -> int:
    """How many tasks were started beside themselves."""
    (file,) = log.iterdir()
    events = [json.loads(line) for line in file.read_text().splitlines()]
    started = (event for event in events if event["Event"] == "SparkListenerTaskStart")
    return sum(event["Task Info"]["Speculative"] for event in started)


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


def halts_when_reached(places: tuple[str, ...], application: str) -> None:
    """Halts one executor for a while whenever a refresh reaches a place, and then lets it go on."""
    plain = refresh.reach

    def reach(name: str) -> None:
        if name in places:
            victim = executors(application)[0]
            os.kill(victim, signal.SIGSTOP)
            threading.Timer(PAUSE_SECONDS, os.kill, (victim, signal.SIGCONT)).start()
        plain(name)

    refresh.reach = reach  # type: ignore[attr-defined]


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
    main(Path(sys.argv[1]), *sys.argv[2:])

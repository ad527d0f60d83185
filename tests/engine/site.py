"""A lake whose views are refreshed by processes that die, race and lose replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

from engine.worker import BY_SPARK, LEASE_SECONDS, Nursery
from formats.commit.lake import Server, until
from grebe import config
from grebe.engine import refresh, run
from grebe.engine.engine import Engine
from grebe.formats.iceberg import commit
from grebe.registry import Registry
from same_rows import assert_same_rows

SCHEMA = "crash"
VIEWS = {
    "sums": "SELECT cust, SUM(amount) AS total, COUNT(*) AS n FROM crash.orders GROUP BY cust",
    "named": "SELECT o.id, c.nation FROM crash.orders AS o LEFT JOIN crash.customers AS c"
    " ON o.cust = c.cust",
    "best": "SELECT n, COUNT(*) AS customers FROM crash.sums GROUP BY n",
}
KINDS = ("first", "incremental", "full", "graph", "large")
PLACES = (*run.PLACES, *refresh.PLACES, *commit.PLACES)
REACHED = {
    "first": {"refresh.created", "refresh.shown"},
    "large": {"run.staged"},
}
"""Places that only this kind of refresh comes by."""
NOT_REACHED = {
    "first": {"refresh.deltas", "refresh.computed"},
    "full": {"refresh.deltas", "refresh.computed"},
}
MATRIX = [
    (kind, place)
    for kind in KINDS
    for place in PLACES
    if place not in NOT_REACHED.get(kind, set())
    and all(place not in only or kind == other for other, only in REACHED.items())
]
_numbers = count()


@dataclass(slots=True)
class Site:
    """A lake with views, the processes that are killed, and one that is not."""

    folder: Path
    server: Server
    nursery: Nursery
    engine: Engine
    registry: Registry
    views: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def opened(folder: Path) -> Site:
        server = Server(folder)
        try:
            server.start()
        except BaseException:
            server.kill()
            raise
        settings = config.load(folder, BY_SPARK)
        spark = server.connect()
        registry = Registry.open(settings.registry_url)
        engine = Engine(settings, spark, registry, lease_seconds=LEASE_SECONDS)
        return Site(folder, server, Nursery.start(folder, server.url), engine, registry)

    def fill(self) -> None:
        """Two tables and three views."""
        self.sql("CREATE NAMESPACE lake.crash")
        for table, columns in (
            ("orders", "id BIGINT, cust BIGINT, amount DECIMAL(10,2)"),
            ("customers", "cust BIGINT, nation STRING"),
        ):
            self.sql(f"CREATE TABLE lake.crash.{table} ({columns}) USING iceberg")
        self.sql("INSERT INTO lake.crash.orders SELECT id, id % 5, id FROM range(20)")
        self.sql("INSERT INTO lake.crash.customers SELECT id, concat('n', id) FROM range(3)")
        for name, text in VIEWS.items():
            self.define(name, text)
        self.refreshed()

    def sql(self, text: str) -> None:
        self.engine.spark.sql(text).collect()

    def define(self, name: str, text: str) -> None:
        self.views[name] = text
        self.engine.define(f"{SCHEMA}.{name}", text)

    def batch(self, seed: int) -> None:
        base = 1000 + seed * 10
        self.sql(
            f"INSERT INTO lake.crash.orders VALUES ({base}, {seed % 7}, 1), ({base}, {seed % 7}, 1),"
            f" ({base + 1}, NULL, NULL)"
        )
        self.sql(f"DELETE FROM lake.crash.orders WHERE id = {base - 9} OR id = {seed}")
        self.sql(f"UPDATE lake.crash.customers SET nation = 'x{seed}' WHERE cust = {seed % 3}")

    def killed(self, kind: str, place: str, seed: int) -> None:
        """One refresh that dies at a place; everything holds afterwards, and after the next one."""
        self.batch(seed)
        names = [f"{SCHEMA}.sums"]
        if kind == "first":
            name = f"first{next(_numbers)}"
            self.views[name] = (
                f"SELECT cust, {seed} AS seed, MAX(id) AS last FROM crash.orders GROUP BY cust"
            )
            names = [f"{SCHEMA}.{name}"]
        victim = self.nursery.worker()
        texts = {f"{SCHEMA}.{name}": text for name, text in self.views.items()}
        opened = victim.ask("open", views=texts if kind == "graph" else only(texts, names))
        assert "views" in opened, opened
        answer = victim.ask(
            "refresh",
            names=None if kind == "graph" else names,
            failpoints=f"{place}=kill",
            policy="full" if kind == "full" else None,
            large=kind == "large",
        )
        assert answer == {"died": True}, (kind, place, answer)
        if kind == "first":
            self.engine.define(names[0], texts[names[0]])
        self.holds()
        self.abandoned()
        if seed // len(MATRIX) % 2:
            self.refreshed()  # nobody has to recover first
        self.recovered()
        self.refreshed()
        if kind == "first":
            self.forget(names[0])

    def holds(self) -> None:
        """Whatever a view shows is its query at its own frontier."""
        for name in self.views:
            view = self.engine.view(f"{SCHEMA}.{name}")
            position = self.engine.tables.position(view.storage_name, lambda: self.engine.spark)
            if position is not None and position.frontier is not None:
                assert (position.foreign, position.unproven) == ((), None)
                self.engine.verify(f"{SCHEMA}.{name}")

    def abandoned(self) -> None:
        """Nobody holds a view any more: the leases of the dead have run out."""
        until(lambda: True if not any(map(self.held, self.views)) else None, "leases stay")

    def recovered(self) -> None:
        """Nothing is left of the dead run, and there is nothing to do twice."""
        self.abandoned()
        self.engine.recover(older_than=timedelta(0))
        assert self.engine.recover(older_than=timedelta(0)) == []
        assert self.registry.unfinished() == []
        spark = self.engine.spark
        names = [row["tableName"] for row in spark.sql("SHOW TABLES IN lake.crash").collect()]
        assert not [name for name in names if name.startswith("__grebe_stage_")]
        for name in self.views:
            storage = self.engine.view(f"{SCHEMA}.{name}").storage_name
            refs = {row[0] for row in spark.sql(f"SELECT name FROM {storage}.refs").collect()}
            assert refs <= {"main", "grebe_frontier"}

    def held(self, name: str) -> bool:
        return self.registry.holder(f"lake.{SCHEMA}.{name}") is not None

    def refreshed(self) -> None:
        """The next run goes through, and every view equals its text as the sources are now."""
        for result in self.engine.refresh():
            if result.error is not None:
                raise result.error
        for name, text in self.views.items():
            shown = self.engine.spark.table(f"lake.{SCHEMA}.{name}")
            query = self.engine.spark.sql(text.replace("crash.", "lake.crash."))
            assert_same_rows(shown, query)

    def forget(self, name: str) -> None:
        view = self.engine.views.pop(f"lake.{name}")
        self.sql(f"DROP VIEW {view.name.quoted()}")
        self.sql(f"DROP TABLE {view.storage_name.quoted()} PURGE")
        del self.views[view.name.name]

    def close(self) -> None:
        self.nursery.close()
        self.server.kill()


def only(texts: dict[str, str], names: list[str]) -> dict[str, str]:
    return {name: texts[name] for name in names}

"""A stream view as the engine knows views: what children compile against, and what its name shows."""

from __future__ import annotations

import json
from hashlib import blake2b

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Filter, Projection, Stored
from grebe.compiler.algebra.scalar import build, column, passed
from grebe.compiler.plan.refresh_plan import RefreshPlan, Strategy
from grebe.compiler.write.steps import Shape
from grebe.engine.compiled_view import CompiledView, ViewDefinition
from grebe.formats.event_tables import DEAD, HIDDEN
from grebe.model import TableName
from grebe.stored_properties import StoredProperties
from grebe.streams.event_columns import stored_schema


def compiled_stream(
    name: TableName,
    columns: tuple[tuple[str, str], ...],
    generation: int,
    properties: StoredProperties,
) -> CompiledView:
    """The view over its storage table: rows without dead letters, and the columns of its schema."""
    names = tuple(item for item, _ in columns)
    hidden = tuple(item for item, _ in HIDDEN)
    stored = Stored((*names, *hidden))
    alive = Filter(stored, build(":dead IS NULL", dead=column(DEAD)))
    fingerprint = stream_fingerprint(name, generation)
    plan = RefreshPlan(
        types=Types("spark", {}),
        definition=stored,
        outputs=tuple((item, item) for item in names),
        tables=(),
        strategy=Strategy.APPEND,
        shape=Shape(stored, hidden),
        build=stored,
        public=Projection(alive, passed(names)),
        steps=(),
        notes=("its rows are made from events, and children follow what is added to them",),
        fingerprint=fingerprint,
    )
    definition = ViewDefinition(
        name,
        "",
        properties=tuple(sorted(properties.to_properties().items())),
        made_as=fingerprint,
    )
    return CompiledView(definition, plan, columns, stored_schema(columns), ())


def stream_fingerprint(name: TableName, generation: int) -> str:
    """What the frontiers of a stream view's table carry: a replay makes another table."""
    text = json.dumps(["stream", str(name), generation])
    return blake2b(text.encode(), digest_size=16).hexdigest()

"""Every code that an error, a reason or a program's statement carries: what it means, what to do, where it occurs.

Codes are stable and what programs match on; messages are for people and may change. Where a code is
said it stands as a literal: a test reads the package and compares with this list, and another
looks for the test that provokes each one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Place(StrEnum):
    """What somebody does when a code is met."""

    OPENING = "opening"
    """A project, its settings, its registry, its Spark."""
    CREATION = "creation"
    """A view is created, altered or dropped, or its file is read."""
    REFRESH = "refresh"
    STATUS = "status"
    """Status, plan, explain and the history of runs."""
    VERIFY = "verify"
    READING = "reading"
    """Rows of a view are read."""
    COMMAND = "command line"
    SERVER = "server"
    """Asked over HTTP."""
    PROGRAM = "program"
    """A DuckLake program is made or run."""


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means, what can be done, and where it occurs."""

    text: str
    hint: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class QueryReason:
    """Why a query is not maintained: the feature code of a refusal, and whether it always stops."""

    text: str
    feature: str
    instead: str
    always_refused: bool = False


_OPEN, _CREATE, _REFRESH = (Place.OPENING,), (Place.CREATION,), (Place.REFRESH,)
_STATUS, _COMMAND, _PROGRAM = (Place.STATUS,), (Place.COMMAND,), (Place.PROGRAM,)
_SERVER = (Place.SERVER,)
_RUN = (Place.REFRESH, Place.STATUS)
_SOURCE = (Place.CREATION, Place.REFRESH, Place.STATUS, Place.VERIFY)
_TEXT = (Place.CREATION, Place.PROGRAM)


QUERY_REASONS: Final[dict[str, QueryReason]] = {
    "unknown-function": QueryReason(
        "The function is not on the list of functions known to be deterministic, or is a user"
        " defined one.",
        "function",
        "compute the value in a source table, or spell it with functions that are listed",
    ),
    "unsupported-expression": QueryReason(
        "The expression is understood by the parser, but no rule says how it behaves.",
        "expression",
        "rewrite it with CASE, casts and listed functions",
    ),
    "unsupported-clause": QueryReason(
        "The clause changes what the query means in a way that no rule covers.",
        "clause",
        "leave the clause out, or put it into the query that reads the view",
    ),
    "table-function": QueryReason(
        "A function in FROM gives rows that no source version can be named for.",
        "table_function",
        "store the rows in a table, or write them as VALUES",
    ),
    "time-function": QueryReason(
        "The value changes with the clock, so rows change although no source did.",
        "non_deterministic",
        "filter by time in the query that reads the view, or set the policy to full",
    ),
    "session-function": QueryReason(
        "The value depends on who runs the refresh, or on the session's settings.",
        "non_deterministic",
        "write the value as a literal",
        always_refused=True,
    ),
    "non-deterministic": QueryReason(
        "The value is another one at every evaluation.",
        "non_deterministic",
        "derive the value from columns, for example with a hash of the key",
        always_refused=True,
    ),
    "recursive-cte": QueryReason(
        "A recursive common table expression has no delta rule.",
        "recursive_cte",
        "unroll a known number of steps, or allow full refreshes",
    ),
    "limit-without-order": QueryReason(
        "Which rows a LIMIT keeps is not determined without ORDER BY.",
        "limit",
        "add ORDER BY",
    ),
    "limit-not-constant": QueryReason(
        "LIMIT and OFFSET must be whole numbers written in the text; a percentage or an"
        " expression is none.",
        "limit",
        "write a number",
    ),
    "limit-with-ties": QueryReason(
        "FETCH … WITH TIES keeps a number of rows that depends on the values.",
        "limit",
        "filter by RANK() with QUALIFY",
    ),
    "window-without-partition": QueryReason(
        "Without PARTITION BY one changed row can move every row.",
        "window_function",
        "add PARTITION BY, or allow full refreshes",
    ),
    "order-dependent-value": QueryReason(
        "A value that depends on the order in which rows are added up, such as a sum of floats,"
        " decides which rows are equal or belong together, or has no key to be found again by.",
        "order_dependent",
        "make the inner query a view of its own, or sum decimals instead of floats",
    ),
    "order-dependent-window": QueryReason(
        "Rows that are equal in ORDER BY share a RANGE frame, and the function picks one of them.",
        "window_function",
        "order by a unique key, or use a ROWS frame that starts with UNBOUNDED PRECEDING",
    ),
    "order-dependent-aggregate": QueryReason(
        "The result depends on the order in which rows are read.",
        "aggregate",
        "use MIN, MAX or MAX_BY, or give an ORDER BY inside the call",
    ),
    "approximate-aggregate": QueryReason(
        "An approximate result is not a function of the rows alone.",
        "aggregate",
        "use the exact aggregate",
    ),
    "unsupported-aggregate": QueryReason(
        "The aggregate is not on the list of known ones.",
        "aggregate",
        "use a listed aggregate",
    ),
    "correlated-subquery": QueryReason(
        "The subquery reads the outer row in a way that cannot be turned into a join.",
        "correlated_subquery",
        "write it as a join",
    ),
    "subquery-in-outer-join": QueryReason(
        "A subquery in the ON of an outer join reads columns of both sides.",
        "correlated_subquery",
        "compute the subquery's value on one side before the join",
    ),
    "collation": QueryReason(
        "Under a collation other than the binary one, equal values can be different texts.",
        "collation",
        "compare LOWER(…) of the columns instead",
    ),
    "dynamic-pivot": QueryReason(
        "The columns of the result depend on the data.",
        "pivot",
        "list the values: PIVOT (… FOR column IN (value, …))",
    ),
    "join-kind": QueryReason(
        "The kind of join depends on the position of rows, or has no rule.",
        "join",
        "write the join with an ON condition",
    ),
    "type-without-equality": QueryReason(
        "A column has a type whose values Spark cannot compare (a map or a variant), so a stored row"
        " cannot be found again by its values.",
        "type",
        "store the map as ARRAY_SORT(MAP_ENTRIES(…)), or the single values that are needed",
    ),
    "translation-differs": QueryReason(
        "The algebra's own words for a part of the query do not mean to the engine what the user"
        " wrote, so the user's text itself is run, in full.",
        "translation",
        "write the part in another way, or allow full refreshes",
    ),
    "too-large": QueryReason(
        "What the query means, or what its changes mean, is too large to be written down: parts of it"
        " are read many times over, by parts that are read many times themselves.",
        "too_large",
        "make a view of its own from the part that is read most often, or allow full refreshes",
    ),
}
"""Why a query is not maintained, under any of the policies that recompute; `ReasonCode` names them."""

CODES: Final[dict[str, Code]] = {
    # The tree of exceptions: what a class says when nothing narrower is known.
    "bad-where": Code(
        "A condition on dead letters is none.",
        'write `{"code": "wrong-type"}`',
        _COMMAND,
    ),
    "changed-from": Code(
        "Some rows of a stream view were made by a former definition of it.",
        "`grebe replay VIEW` makes all of them anew",
        _STATUS,
    ),
    "checkpoint-lost": Code(
        "A stream view was fed by another checkpoint of a streaming query than the one that comes now.",
        "`view.sink(checkpoint, adopt=True)`, if the events of this one are others",
        _REFRESH,
    ),
    "error": Code(
        "Anything that grebe raises on purpose; always one of the codes below in practice.",
        "read the message",
        tuple(Place),
    ),
    "config": Code(
        "grebe.toml or a GREBE_* variable is wrong, or a command asks for what cannot be.",
        "correct the key that is named",
        _OPEN,
    ),
    "event-failed": Code(
        "An event does not become rows, and the caller asked to stop there.",
        'send it with `on_error="dead"`',
        _REFRESH,
    ),
    "mostly-dead": Code(
        "Most of the last events did not become rows; they wait in their source.",
        "correct the definition of the stream view",
        _RUN,
    ),
    "no-stream": Code(
        "What is asked for can only be done with a stream view.",
        "refresh it instead",
        _REFRESH,
    ),
    "nothing-to-replay": Code(
        "Nothing holds the events of a stream, so that rows could be made anew.",
        "send them again to a view of another name",
        _REFRESH,
    ),
    "project-moved": Code(
        "The folder was copied or moved, and its tables name files of another place.",
        "grebe adopt, or move the folder back",
        _OPEN,
    ),
    "definition": Code(
        "The text of a view is the problem; the place is given.", "correct the text there", _TEXT
    ),
    "queue-full": Code(
        "More requests of a stream wait for their commit than are taken in.",
        "send it again after a moment",
        _COMMAND,
    ),
    "source-away": Code(
        "The source of a stream cannot be reached.",
        "is a broker at the given servers?",
        _RUN,
    ),
    "sql-syntax": Code(
        "The text is not SQL of the dialect.", "correct the text at the place that is given", _TEXT
    ),
    "stream-view": Code(
        "A stream view has no policy, lag or schedule.",
        "give it another definition",
        _CREATE,
    ),
    "unknown-stream": Code(
        "No view is of that stream.",
        "define one with `project.define_stream_view`",
        _REFRESH,
    ),
    "unknown-table": Code(
        "A name that no catalog knows, or a source that is gone.",
        "write schema.table or catalog.schema.table, as it is there",
        _SOURCE,
    ),
    "unknown-column": Code(
        "A column that none of the tables in scope has, or a used column that is gone.",
        "take one of the columns that are listed",
        _SOURCE,
    ),
    "ambiguous-column": Code(
        "A bare column name that several tables in scope have.",
        "write the table's name before it",
        _TEXT,
    ),
    "unsupported-sql": Code(
        "SQL that can neither be maintained nor recomputed faithfully; `feature` says which.",
        "see the features below",
        _TEXT,
    ),
    "declaration": Code(
        "A declarative definition breaks a rule; its own code stands below.",
        "correct the field that is named",
        _CREATE,
    ),
    "cycle": Code(
        "Views that read each other in a circle; the message shows the path.",
        "let one of them read the tables instead",
        (Place.CREATION, Place.REFRESH),
    ),
    "not-incremental": Code(
        "Under `strict` or `incremental`: the view cannot be maintained, or not this time.",
        "read the reasons; the policy `auto` recomputes and says why",
        (Place.CREATION, Place.REFRESH),
    ),
    "source": Code(
        "A source cannot give what is asked of it.",
        "read the detail; refresh in full when history is the matter",
        _SOURCE,
    ),
    "history-expired": Code(
        "A version that the view stands at no longer exists.",
        "keep history longer than the time between refreshes; the refresh is in full",
        _SOURCE,
    ),
    "schema-changed": Code(
        "A used column has another identity or type than the rows of the view were made from.",
        "the next refresh is in full; correct the text if the column is gone",
        _SOURCE,
    ),
    "source-replaced": Code(
        "The table under a name is another one than the one that was read before.",
        "the next refresh is in full",
        _SOURCE,
    ),
    "corrupt-file": Code(
        "A metadata or data file is torn, empty or unreadable; the file is named.",
        "restore the file, or the table to a version without it",
        _SOURCE,
    ),
    "refresh": Code(
        "A run failed; nothing of it is visible unless the message says so.",
        "read the detail",
        _REFRESH,
    ),
    "conflict": Code(
        "Somebody else moved the storage table first; nothing of this run is visible.",
        "run it again",
        (Place.REFRESH, Place.PROGRAM),
    ),
    "lease-held": Code(
        "Another run is refreshing the view.",
        "wait for it; a lease of a dead run ends by itself",
        _REFRESH,
    ),
    "step-failed": Code(
        "Spark, DuckDB or a catalog failed at a step; nothing is visible.",
        "read the detail, which is the engine's own",
        (Place.REFRESH, Place.PROGRAM),
    ),
    "unknown-outcome": Code(
        "A commit was sent, and neither its success nor its failure can be proved right now.",
        "run it again: it reads first what became of the commit",
        _REFRESH,
    ),
    "integrity": Code(
        "Stored rows contradict the change that should apply to them, or verify found a difference.",
        "refresh in full, and report it",
        (Place.REFRESH, Place.VERIFY, Place.PROGRAM),
    ),
    "registry": Code(
        "The journal of runs cannot be read or written.", "grebe doctor looks for the cause", _OPEN
    ),
    "registry-version": Code(
        "The registry was written by a newer grebe.", "install the newer version", _OPEN
    ),
    "registry-value": Code(
        "A row of the registry holds something else than a record.",
        "correct or delete the row; grebe recover writes views again",
        (Place.OPENING, Place.STATUS),
    ),
    "missing-extra": Code(
        "An optional package is not installed.", 'pip install "grebe[…]", as the hint says', _OPEN
    ),
    "internal": Code(
        "A broken invariant of grebe itself.", "report it with the view's definition", tuple(Place)
    ),
    # Opening a project: Spark, Java, catalogs.
    "no-project": Code(
        "There is no grebe.toml here or above.", "grebe init, or name the folder with -C", _COMMAND
    ),
    "only-spark": Code(
        "Rows that cannot be read without Spark were asked for as Arrow.",
        "use view.read()",
        (Place.READING,),
    ),
    "negative-limit": Code(
        "A number of rows below zero was asked for.", "give 0 or more", (Place.READING,)
    ),
    "unknown-listener": Code(
        "No installed package brings a listener of that name.",
        "install the package, or correct the name in [listeners]",
        _OPEN,
    ),
    "jars-missing": Code(
        "The jars that Spark needs could not be fetched, kept or found whole.",
        "connect to the network once, free space, or set GREBE_CACHE",
        _OPEN,
    ),
    "java-missing": Code(
        "No Java 17 or 21 was found.", 'pip install "grebe[java]", or set JAVA_HOME', _OPEN
    ),
    "session-setting": Code(
        "A setting of the given Spark session changes what a definition says.",
        "set it as the hint says",
        _OPEN,
    ),
    "spark-extension-missing": Code(
        "A catalog needs a Spark extension that the given session was started without.",
        "start Spark with spark.sql.extensions as the hint says",
        _OPEN,
    ),
    "catalog-locked": Code(
        "A DuckLake catalog in a file is open in another process.",
        "close it there, or keep the catalog in SQLite or PostgreSQL",
        _SOURCE,
    ),
    "catalog-missing": Code(
        "There is no DuckLake catalog at the address.", "correct the address in grebe.toml", _SOURCE
    ),
    "catalog-moved": Code(
        "Files of a DuckLake were merged or flushed while they were listed.",
        "nothing: the next look is a new one",
        _SOURCE,
    ),
    "catalog-unreachable": Code("A DuckLake catalog cannot be opened.", "read the detail", _SOURCE),
    "catalog-encrypted": Code(
        "An encrypted DuckLake, into which Spark cannot write.",
        "keep the view in a catalog that is not encrypted",
        (Place.CREATION, Place.REFRESH),
    ),
    "catalog-not-found": Code(
        "A program names a catalog that is not attached.", "attach it under that name", _PROGRAM
    ),
    "not-ducklake": Code(
        "A program names a catalog that is attached, and no DuckLake.",
        "attach it as ducklake:…",
        _PROGRAM,
    ),
    # Creating, altering and dropping views.
    "batch-differs": Code(
        "A batch id of a stream was stored before, with other events; nothing of the new ones is stored.",
        "send new events under a new batch id",
        _REFRESH,
    ),
    "bad-check": Code(
        "The property does not say when a first build is checked.",
        "write one of the words that are listed",
        _CREATE,
    ),
    "bad-cluster": Code(
        "The view cannot be clustered by this.", "CLUSTER BY takes columns of the view", _CREATE
    ),
    "bad-duration": Code(
        "The text is not a length of time.",
        'write a number and a unit, such as "10 minutes"',
        _CREATE,
    ),
    "bad-partition": Code(
        "The view cannot be partitioned by this.",
        "a column, or year, month, day, hour, bucket(n, …), truncate(n, …) of one",
        _CREATE,
    ),
    "bad-policy": Code("The policy does not exist.", "auto, incremental, strict or full", _CREATE),
    "bad-address": Code(
        "The text is not an address to listen at.",
        "write host:port, such as 127.0.0.1:8765",
        _COMMAND,
    ),
    "port-in-use": Code(
        "The server cannot listen there.", "give another address with --listen", _COMMAND
    ),
    "token-needed": Code(
        "Others could reach the server without a token, or the token is too short.",
        "set GREBE_WEB__TOKEN, or listen at 127.0.0.1",
        _COMMAND,
    ),
    "wrong-host": Code(
        "The server was asked under a name that is not its own.", "add it to [web] hosts", _SERVER
    ),
    "wrong-origin": Code("A page of another site asked the server.", "", _SERVER),
    "wrong-token": Code(
        "The token is missing or wrong.", "send it: Authorization: Bearer …", _SERVER
    ),
    "request-too-large": Code("A request is larger than allowed.", "send it in parts", _SERVER),
    "bad-limit": Code("The number of runs that is asked for is none.", "write 1 to 1000", _SERVER),
    "spark-not-here": Code(
        "A table can only be seen by Spark, and the loop has none.",
        "keep it in a catalog that is read without Spark, or refresh its views by `grebe refresh`",
        _STATUS,
    ),
    "bad-trigger": Code(
        "The text is not a trigger, or a setting belongs to another trigger than the view's.",
        'write TRIGGER ON UPDATE, or trigger = "update"',
        _CREATE,
    ),
    "two-triggers": Code(
        "The view names two triggers; it has one.",
        "keep one; a length of time as lag may stand beside any other",
        _CREATE,
    ),
    "bad-catch-up": Code(
        "The text does not say what follows missed times.", "one or none", _CREATE
    ),
    "bad-max-failures": Code(
        "The text is not a number of failures.", "write a whole number; 0 means never", _CREATE
    ),
    "bad-verify": Code(
        "The text does not say when a view is checked.",
        "write EVERY 1 DAY, or EVERY 1 DAY SAMPLE 1 PERCENT",
        _CREATE,
    ),
    "bad-strategy": Code("The text is not a strategy.", "replace or append", _CREATE),
    "unknown-setting": Code(
        "A view has no such setting.", "the closest one is named in the hint", _CREATE
    ),
    "not-append-only": Code(
        "The strategy is `append`, and the query may take rows away when rows are added to sources.",
        "leave the strategy out",
        _CREATE,
    ),
    "bad-schedule": Code(
        "The text is not a schedule, not a cron text, or names no time zone.",
        "write EVERY 1 HOUR, or CRON '0 2 * * *' AT TIME ZONE 'UTC'",
        _CREATE,
    ),
    "bad-threshold": Code(
        "The text is not a share.", "write a number from 0 to 1, such as 0.3", _CREATE
    ),
    "secret-in-text": Code(
        "A property of the view is one of a secret, and would be kept with its table.",
        "secrets come from the environment, and only to the settings",
        _CREATE,
    ),
    "reserved-name": Code(
        "A column has a name that the format or its engine keeps for itself.",
        "give the column another name",
        (Place.CREATION, Place.REFRESH),
    ),
    "not-json": Code(
        "A declarative definition is not JSON.", "correct it at the place that is given", _CREATE
    ),
    "not-sql": Code(
        "A function that defines a view returned something else than SQL.",
        "return the text of a query",
        _CREATE,
    ),
    "other-format": Code(
        "The view is to be kept in a format that its catalog does not have.",
        "name it in another catalog, as the hint says",
        _CREATE,
    ),
    "other-name": Code(
        "The definition is one of a view with another name.",
        "a view keeps its name: create another one",
        _CREATE,
    ),
    "view-exists": Code(
        "A view of this name exists already.",
        "alter or drop it, or create it with replace",
        _CREATE,
    ),
    "function-option": Code(
        "Something said of a function means nothing, such as a batch of no rows.",
        "the detail or the hint names what is allowed",
        _CREATE,
    ),
    "function-type": Code(
        "The type of what a function gives is not known, or is none of a column.",
        '@grebe.udf(returns="string"), or annotate it',
        _CREATE,
    ),
    "function-without-inputs": Code(
        "A function has no parameters, so no input decides its value.",
        "write an expression of SQL instead",
        _CREATE,
    ),
    "function-without-version": Code(
        "What a function does cannot be told from its text.",
        '@grebe.udf(version="1")',
        _CREATE,
    ),
    "function-not-packed": Code(
        "A function holds what cannot travel to where it runs.",
        "make it in `setup` of a class",
        _CREATE,
    ),
    "function-too-large": Code(
        "A function with all that it holds is larger than 64 KB.",
        "load data in `setup` of a class",
        _CREATE,
    ),
    "function-python": Code(
        "A function was packed by another minor version of Python.",
        "create the view again under this Python",
        _RUN,
    ),
    "function-failed": Code(
        "A Python function failed for a row that no rule lets be skipped; nothing was committed.",
        "mend the row or the function, or say on_error=grebe.skip_on_error()",
        _REFRESH,
    ),
    "skip-threshold": Code(
        "A Python function failed for more rows than its rule lets be skipped; nothing was committed.",
        "look at the inputs, or allow more",
        _REFRESH,
    ),
    "input-type": Code(
        "A column has a type that is no input of a function, or not the one that its parameter says.",
        "cast it in the select",
        _CREATE,
    ),
    "not-a-row-view": Code(
        "What only row views have was asked of another kind of view.",
        "make one with project.table(…).select(…)",
        _STATUS,
    ),
    "row-definition": Code(
        "The definition of a row view has no columns, names something twice, or is not one that grebe wrote.",
        "the detail says where",
        _CREATE,
    ),
    "query-not-plain": Code(
        "A row view was to have more than filters and expressions over the columns of a row.",
        'project.query("SELECT …") keeps any query below the functions',
        _CREATE,
    ),
    "not-built": Code(
        "What was asked for does not exist yet.",
        "the hint says what there is instead",
        (*_CREATE, *_REFRESH),
    ),
    "refresh-option": Code(
        "A limit of a refresh means nothing.",
        "leave it out for the usual",
        _REFRESH,
    ),
    "key-not-unique": Code(
        "Two rows of a row view have the same key.",
        "name the columns of a key, or none",
        _RUN,
    ),
    "results-unreachable": Code(
        "Results that a worker wrote cannot be read here.",
        "keep the project's folder where both see it",
        _REFRESH,
    ),
    "rows-pending": Code(
        "Rows of a row view wait for their functions.",
        "refresh it, with no limit",
        _STATUS,
    ),
    "view-in-file": Code(
        "The view is defined in a file, so it is not changed by a command.",
        "edit the file; the next refresh follows it",
        _CREATE,
    ),
    "view-outside": Code(
        "A file of the project is a link that leads out of it.",
        "put the file itself into the folder",
        _CREATE,
    ),
    "defined-twice": Code(
        "Two files define one view.", "remove one of the files, or rename one of the views", _CREATE
    ),
    "has-dependents": Code(
        "The view is read by other views.", "drop them first, or drop with --cascade", _CREATE
    ),
    "refused-by-spark": Code(
        "Spark does not accept the query; the detail is its own.", "correct the text", _CREATE
    ),
    "unknown-view": Code(
        "No view has this name.", "see grebe status", (Place.STATUS, Place.COMMAND)
    ),
    "not-compiled": Code(
        "A view that is read is not compiled yet; it comes first in the order.",
        "none is needed: it is compiled first",
        _CREATE,
    ),
    "view-dropped": Code("Somebody else dropped the view meanwhile.", "create it again", _REFRESH),
    "view-altered": Code(
        "Somebody else altered the view meanwhile.",
        "run the command again, which reads it as it is now",
        _REFRESH,
    ),
    "name-taken": Code(
        "The public name is a table or a view of somebody else.",
        "drop or rename what is there, or rename the view",
        (Place.CREATION, Place.REFRESH),
    ),
    "file-gone": Code(
        "The file that defined the view is no longer there; the text of the last refresh goes on.",
        "write the file again, or grebe drop",
        _STATUS,
    ),
    # Refreshing: why a refresh was in full, or failed.
    "first-refresh": Code("The view holds no rows yet.", "", _RUN),
    "definition-changed": Code(
        "The view's own text is another one than its rows show.",
        "refresh it; a program: drop it first",
        (Place.REFRESH, Place.STATUS, Place.VERIFY, Place.READING, Place.PROGRAM),
    ),
    "rows-retracted": Code(
        "Rows were taken away from a source of a view whose strategy is `append`; the view follows, "
        "or fails under `strict`.",
        "leave the strategy out, if its sources are not only added to",
        _RUN,
    ),
    "policy-full": Code("The policy is to recompute.", "", _RUN),
    "changeset-too-large": Code(
        "The share of changed rows is above the limit, so recomputing is cheaper.",
        "set grebe.threshold to move the limit",
        _RUN,
    ),
    "full-cheaper": Code(
        "Recomputing is cheaper by what was measured; the numbers are given.", "", _RUN
    ),
    "engine-version-changed": Code(
        "This grebe stores the same definition in another way.", "", _RUN
    ),
    "layout-older": Code("An older grebe wrote the state.", "", _RUN),
    "layout-newer": Code("A newer grebe wrote the view.", "install the newer version", _RUN),
    "foreign-write": Code(
        "Somebody else wrote into the storage table or changed its columns.",
        "grebe refresh rebuilds it; write to sources only",
        (Place.REFRESH, Place.STATUS, Place.VERIFY, Place.PROGRAM),
    ),
    "frontier-unproven": Code(
        "The storage table's history cannot be followed to a commit of grebe.",
        "grebe refresh rebuilds it",
        (Place.REFRESH, Place.STATUS, Place.VERIFY),
    ),
    "storage-unreadable": Code(
        "Under --full-refresh: the storage table cannot be used any more, so the rows went into another one.",
        "grebe vacuum removes the old one",
        _REFRESH,
    ),
    "not-shown": Code(
        "The public name shows something else than the stored rows; a refresh shows them again.",
        "grebe refresh",
        _RUN,
    ),
    "upstream-failed": Code(
        "A view that it reads failed; it keeps its rows and follows with the next run.",
        "look at the view that is named",
        _RUN,
    ),
    "frontier-conflict": Code(
        "Its parents show different versions of a source, and were not to be refreshed with it.",
        "refresh the parents with it",
        _REFRESH,
    ),
    "empty-partition-value": Code(
        "A text column that Delta storage is partitioned by holds '', which Delta stores as NULL.",
        "partition by another column, or take NULLIF or COALESCE of this one",
        _REFRESH,
    ),
    "window-guard": Code(
        "The changes of a source contradict its row counts.",
        "refresh in full, and report it with the table's history",
        _REFRESH,
    ),
    "type-not-stored": Code(
        "A column has a type that no table can hold, such as an interval.",
        "store its parts, or as text",
        _CREATE,
    ),
    "type-without-identity": Code(
        "A column has a type whose values cannot be compared exactly.",
        "cast it in the source, or leave it out",
        _SOURCE,
    ),
    "empty-folder": Code(
        "A folder of Parquet files holds none, so its columns are unknown.",
        "put a file there first",
        _SOURCE,
    ),
    "files-disagree": Code(
        "Files of one folder have different types or spellings of a column.",
        "write the files with one schema",
        _SOURCE,
    ),
    "files-vanished": Code("A Parquet file that was read is gone, and its rows with it.", "", _RUN),
    "files-changed": Code(
        "A Parquet file that was read was written again.",
        "add files instead of writing them again",
        _RUN,
    ),
    "needs-spark": Code(
        "A Parquet file holds dates in the calendar of an old Spark.",
        "read it with a session, or write the file again",
        _SOURCE,
    ),
    "format-unknown": Code(
        "An Iceberg table of a newer format version than is known.", "", _SOURCE
    ),
    "unknown-table-feature": Code(
        "A Delta table needs features that this version does not read.", "", _SOURCE
    ),
    # Verifying and reading.
    "first-build-differs": Code(
        "The check of a first build found other rows than the query gives.",
        "report the definition; the policy full runs the text itself",
        (Place.REFRESH, Place.VERIFY),
    ),
    "sample": Code(
        "The sample to verify is not a part of the rows.",
        "give a number above 0 and up to 1, such as 0.01",
        (Place.VERIFY, Place.COMMAND),
    ),
    "events-not-compared": Code(
        "A stream view has no query to compare with: its rows were made from events.",
        "grebe replay makes them anew from what the stream still holds",
        (Place.VERIFY,),
    ),
    "never-refreshed": Code(
        "The view has no rows yet.", "grebe refresh", (Place.VERIFY, Place.READING, Place.CREATION)
    ),
    # Where a view stands, and what became of runs.
    "source-moved": Code("A source has changed since the last refresh.", "grebe refresh", _STATUS),
    "parent-stale": Code("A view that it reads is not fresh.", "grebe refresh +view", _STATUS),
    "parent-replaced": Code("A view that it reads was made anew.", "grebe refresh", _STATUS),
    "parent-moves": Code("A view that it reads will change first.", "", _STATUS),
    "abandoned": Code(
        "A run ended without a result, and is not the last that landed.", "", _STATUS
    ),
    "recovered": Code("A run landed, but did not live to say so.", "", _STATUS),
    "died": Code(
        "A run holds no lease any more.", "the next refresh tells what became of it", _STATUS
    ),
    "unknown-run": Code(
        "No steps of that run are known: those of the last ten runs of a view are kept.",
        "refresh the view first",
        _STATUS,
    ),
    # The command line.
    "usage": Code("The command line makes no sense.", "see --help", _COMMAND),
    "disk": Code(
        "The disk is full, or cannot be written to.",
        "free space, or correct the rights",
        _COMMAND,
    ),
    "unexpected": Code(
        "An error that nobody expected at this place.",
        "grebe doctor looks for the cause; grebe -v shows where it happened",
        _COMMAND,
    ),
    # What the statements of a DuckLake program raise.
    "setup": Code(
        "The cursor rows or the table of a view are not of one set-up.",
        "drop the table and the cursor rows, and set it up again",
        _PROGRAM,
    ),
    "range_expired": Code(
        "A source no longer has the snapshot that the view stands at.",
        "expire only what safe_to_expire_sql names, or let the policy recompute",
        _PROGRAM,
    ),
    "schema-mismatch": Code(
        "A source has other types than `schemas` says.",
        "compile with the types of the catalog",
        _PROGRAM,
    ),
    "settings": Code(
        "The session has a default_collation, under which different texts are one.",
        "reset default_collation",
        _PROGRAM,
    ),
    "settings-changed": Code(
        "The view was made with other settings of the session.",
        "use the same ones, or make the view anew",
        _PROGRAM,
    ),
    "engine-changed": Code(
        "The checksums of the view are of another version of DuckDB.",
        "run `rehash` once; the runner does so itself",
        _PROGRAM,
    ),
}
"""`code` of an error, and of a reason that is not one of the query itself."""

FEATURES: Final[dict[str, Code]] = {
    "aggregate": Code(
        "A call of an aggregate whose result depends on the order of rows, is approximate, or is not known; the name follows, as in `aggregate:mode`.",
        "use MIN, MAX, MAX_BY or another listed aggregate",
        _TEXT,
    ),
    "character": Code("The text holds the character NUL.", "take it away", _TEXT),
    "clause": Code(
        "The clause changes what the query means in a way that no rule covers.",
        "leave the clause out",
        _TEXT,
    ),
    "collation": Code(
        "Under a collation other than the binary one, equal values can be different texts.",
        "compare LOWER(…) of the columns instead",
        _TEXT,
    ),
    "correlated_subquery": Code(
        "The subquery reads the outer row in a way that cannot be turned into a join.",
        "write it as a join",
        _TEXT,
    ),
    "cte": Code("A common table expression that is no query.", "write a SELECT in it", _TEXT),
    "defined_function": Code(
        "A function that was written in SQL and is kept by a catalog or session: it may read tables and the clock, and be replaced.",
        "write what it computes in its place",
        _CREATE,
    ),
    "distinct_on": Code(
        "DISTINCT ON keeps arbitrary rows.", "use ROW_NUMBER() with QUALIFY", _TEXT
    ),
    "duplicate_column": Code("Two outputs have one name.", "give one of them an alias", _TEXT),
    "expression": Code(
        "The expression has no rule, or cannot be written for the engine.",
        "rewrite it with CASE, casts and listed functions",
        _TEXT,
    ),
    "function": Code(
        "The function is not on the list of functions known to be deterministic, or is a user defined one.",
        "spell it with functions that are listed",
        _TEXT,
    ),
    "grouping_sets": Code(
        "There are too many grouping sets.", "write the ones that are needed", _TEXT
    ),
    "join": Code(
        "The kind of join depends on the position of rows, or has no rule.",
        "write the join with an ON condition",
        _TEXT,
    ),
    "limit": Code(
        "Which rows or how many a LIMIT keeps is not determined.",
        "add ORDER BY, and write a number",
        _TEXT,
    ),
    "nesting": Code("The query is nested too deeply.", "name parts of it as views", _TEXT),
    "no_table": Code("The view reads no table, so it never changes.", "read at least one", _TEXT),
    "non_deterministic": Code(
        "The value changes with the clock, the session, or at every evaluation.",
        "derive the value from columns",
        _TEXT,
    ),
    "not_a_query": Code("The text is another statement than a SELECT.", "write a SELECT", _TEXT),
    "only": Code("ONLY is not known.", "leave it out", _TEXT),
    "order_dependent": Code(
        "A value that depends on the order in which rows are added up decides which rows belong together.",
        "sum decimals instead of floats",
        _TEXT,
    ),
    "parameter": Code("A definition has no parameters.", "write the value", _TEXT),
    "partition": Code("A definition reads whole tables.", "filter with WHERE", _TEXT),
    "pivot": Code(
        "The columns of the result depend on the data, or have no names.",
        "list the values, and give aliases",
        _TEXT,
    ),
    "query": Code("The query is of a kind that is not known.", "write it with SELECT", _TEXT),
    "recursive_cte": Code(
        "A recursive common table expression has no delta rule.",
        "unroll a known number of steps",
        _TEXT,
    ),
    "reserved_name": Code(
        "A name begins with the prefix that grebe keeps for itself, or is one of the engine.",
        "use another name",
        _TEXT,
    ),
    "select_star": Code(
        "A star cannot be expanded without the columns of its tables.",
        "pass schemas, or list the columns",
        _TEXT,
    ),
    "several_statements": Code(
        "A definition is one query, not several statements.", "write one", _TEXT
    ),
    "table_function": Code(
        "A function in FROM gives rows that no source version can be named for.",
        "store the rows in a table, or write them as VALUES",
        _TEXT,
    ),
    "table_reference": Code(
        "Where the query names its tables cannot be told.",
        "name tables plainly behind FROM and JOIN",
        _TEXT,
    ),
    "tablesample": Code(
        "A sample gives other rows every time.", "filter by a hash of the key", _TEXT
    ),
    "time_travel": Code(
        "A definition reads its sources at the versions of the refresh.",
        "leave the version out",
        _TEXT,
    ),
    "too_large": Code(
        "What the query means is too large: parts are read many times over, by parts that are read many times themselves.",
        "make a view of its own from the part that is read most often",
        _TEXT,
    ),
    "translation": Code(
        "The algebra's words for a part of the query do not mean to the engine what was written.",
        "write the part in another way",
        _TEXT,
    ),
    "type": Code(
        "A column has a type whose values cannot be compared.",
        "store the single values that are needed",
        _TEXT,
    ),
    "unnamed_column": Code("An output has no name.", "add AS", _TEXT),
    "window_function": Code(
        "Without PARTITION BY, or with equal rows in ORDER BY, one changed row can move every row.",
        "add PARTITION BY, or order by a unique key",
        _TEXT,
    ),
}
"""`UnsupportedSQLError.feature`."""

DECLARATIONS: Final[dict[str, Code]] = {
    "INVALID_BACKEND": Code(
        "`$refresh.backend` is none that is known.", "correct the field that is named", _CREATE
    ),
    "INVALID_COMPUTE": Code(
        "A computed column is not one that can be written as SQL.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_DEFINITION": Code(
        "The definition is not an object.", "correct the field that is named", _CREATE
    ),
    "INVALID_DIRECTIVE": Code(
        "A word that begins with `$` and is not known.", "correct the field that is named", _CREATE
    ),
    "INVALID_EXPAND": Code(
        "`$expand` is not a list of paths that can be followed.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_FILTER": Code(
        "`$filter` is not a condition.", "correct the field that is named", _CREATE
    ),
    "INVALID_FLATTEN": Code(
        "`$flatten` does not map expanded paths to prefixes.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_FROM": Code(
        "`$from` does not name a source.", "correct the field that is named", _CREATE
    ),
    "INVALID_GRACE_PERIOD": Code(
        "`$refresh.gracePeriod` is not a length of time.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_GROUP_BY": Code(
        "`$groupBy` does not name columns or buckets.", "correct the field that is named", _CREATE
    ),
    "INVALID_KEY": Code(
        "`$key` is not a required text or whole number of the schema.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_NAME": Code(
        "`$type` is not the name of a view.", "correct the field that is named", _CREATE
    ),
    "INVALID_PROJECTION": Code(
        "`$projection` is none that is known.", "correct the field that is named", _CREATE
    ),
    "INVALID_REFRESH": Code(
        "`$refresh` is not an object, or holds a word that is not known.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_REFRESH_MODE": Code(
        "`$refresh.mode` is none that is known.", "correct the field that is named", _CREATE
    ),
    "INVALID_RETENTION": Code(
        "`$refresh.retention` is not a length of time.", "correct the field that is named", _CREATE
    ),
    "INVALID_SCHEDULE": Code(
        "`$refresh.schedule` is not a cron text.", "correct the field that is named", _CREATE
    ),
    "INVALID_SCHEMA": Code(
        "`$schema` does not map names to types, or `$extra` is none that is known.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_SELECT": Code(
        "A selected column is not one.", "correct the field that is named", _CREATE
    ),
    "INVALID_STRATEGY": Code(
        "`$refresh.strategy` is none that keeps a view equal to its query.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_STREAM": Code(
        "`$stream` is not the name of a stream.", "correct the field that is named", _CREATE
    ),
    "INVALID_TIMEZONE": Code(
        "`$refresh.timezone` is not a time zone.", "correct the field that is named", _CREATE
    ),
    "INVALID_TRANSFORM": Code(
        "`$transform` makes no rows, or names no function that can be imported.",
        "correct the field that is named",
        _CREATE,
    ),
    "INVALID_TYPE": Code(
        "A field has no type that is known.", "correct the field that is named", _CREATE
    ),
    "INVALID_UNNEST": Code(
        "`$unnest` does not name a path to an array.", "correct the field that is named", _CREATE
    ),
    "MISSING_FROM": Code("A definition without `$from`.", "name the source", _CREATE),
    "MISSING_SCHEDULE": Code(
        "`$refresh.mode` is `scheduled`, and no schedule is given.",
        "add `$refresh.schedule`",
        _CREATE,
    ),
    "MISSING_SCHEMA": Code(
        "A stream view without `$schema`.", "correct the field that is named", _CREATE
    ),
    "MISSING_STREAM": Code(
        "A stream view without `$stream`.", "correct the field that is named", _CREATE
    ),
}
"""`DeclarationError.feature`; its `code` is the same word in kebab-case."""

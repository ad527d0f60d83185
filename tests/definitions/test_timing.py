"""When a view is refreshed: one meaning however it is said, and contradictions told at their place."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from grebe.config import load
from grebe.errors import DefinitionError
from grebe.model import TableName
from grebe.project.definitions import Definition
from grebe.project.read_definition import read_header
from grebe.registry import ViewRecord
from grebe.view_timing import Timing, Trigger, verify_every, with_given

SQL = "CREATE MATERIALIZED VIEW v {} AS SELECT 1 AS a"


def said(clause: str) -> Timing:
    return read_header(SQL.format(clause), None).timing


def declared(**refresh: str) -> Timing:
    return read_header(json.dumps({"$type": "V", "$from": "t", "$refresh": refresh}), None).timing


MEANT = [
    ("", {}, Trigger.MANUAL),
    ("TRIGGER ON UPDATE", {"trigger": "update"}, Trigger.UPDATE),
    ("TRIGGER ON UPDATE AT MOST EVERY INTERVAL 5 SECONDS", {"trigger": "update", "at_most_every": "5 SECONDS"}, Trigger.UPDATE),
    ("TRIGGER ON UPDATE AT MOST EVERY INTERVAL '5' SECOND", {"trigger": "on update", "at_most_every": "5 SECOND"}, Trigger.UPDATE),
    ("trigger on update at most every 5 s target_lag = '1 hour'", {"trigger": "streaming", "at_most_every": "5 s", "lag": "1 hour"}, Trigger.UPDATE),
    ("SCHEDULE EVERY 1 HOUR", {"schedule": "EVERY 1 HOUR"}, Trigger.SCHEDULE),
    ("SCHEDULE CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'", {"schedule": "CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'"}, Trigger.SCHEDULE),
    ("SCHEDULE EVERY 1 HOUR TARGET_LAG = '2 hours'", {"schedule": "EVERY 1 HOUR", "lag": "2 hours"}, Trigger.SCHEDULE),
    ("TARGET_LAG = '10 minutes'", {"lag": "10 minutes"}, Trigger.LAG),
    ("TARGET_LAG = DOWNSTREAM", {"lag": "downstream"}, Trigger.DOWNSTREAM),
    ("TARGET_LAG = '10 minutes' VERIFY EVERY 1 DAY SAMPLE 1 PERCENT", {"lag": "10 minutes", "verify": "every 1 day sample 1 percent"}, Trigger.LAG),
    ("VERIFY EVERY INTERVAL 1 DAY TRIGGER ON UPDATE", {"trigger": "update", "verify": "1 day"}, Trigger.UPDATE),
    ("TBLPROPERTIES ('grebe.grace' = '15 minutes')", {"grace": "15 minutes"}, Trigger.MANUAL),
    ("TBLPROPERTIES ('grebe.trigger' = 'update', 'grebe.at_most_every' = '5 s')", {"trigger": "update", "at_most_every": "5 s"}, Trigger.UPDATE),
    ("TBLPROPERTIES ('grebe.trigger' = 'update', 'grebe.at-most-every' = '5 s')", {"trigger": "update", "at_most_every": "5 s"}, Trigger.UPDATE),
    ("TBLPROPERTIES ('grebe.lag' = '1 h', 'grebe.catch_up' = 'NONE', 'grebe.max_failures' = '07')", {"lag": "1 h", "catch_up": "none", "max_failures": 7}, Trigger.LAG),
    ("TBLPROPERTIES ('grebe.schedule' = 'EVERY 1 HOUR', 'grebe.timeout' = '2 minutes')", {"schedule": "EVERY 1 HOUR", "timeout": "2 minutes"}, Trigger.SCHEDULE),
    ("TBLPROPERTIES ('grebe.verify' = '1 day', 'grebe.strategy' = 'append')", {"verify": "every 1 day", "strategy": "APPEND"}, Trigger.MANUAL),
    ("TBLPROPERTIES ('grebe.strategy' = 'replace')", {}, Trigger.MANUAL),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "given", "kind"), MEANT)
def test_F202_one_meaning_however_it_is_said(
    clause: str, given: dict[str, object], kind: Trigger
) -> None:
    in_sql, in_python = said(clause), with_given(Timing(), given)
    assert in_sql == in_python
    assert in_sql.kind is kind
    assert with_given(Timing(), dict(in_sql.said)) == in_sql  # what is stored means the same


@pytest.mark.parametrize(
    ("refresh", "clause"),
    [
        ({}, "TRIGGER ON UPDATE"),
        ({"mode": "streaming"}, "TRIGGER ON UPDATE"),
        ({"mode": "manual"}, "TBLPROPERTIES ('grebe.trigger' = 'manual')"),
        ({"mode": "scheduled", "schedule": "0 2 * * *"}, "SCHEDULE CRON '0 2 * * *' AT TIME ZONE 'UTC'"),
        ({"mode": "scheduled", "schedule": "0 2 * * *", "timezone": "Europe/Oslo", "gracePeriod": "15m"}, "SCHEDULE CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo' TBLPROPERTIES (grebe.grace = '15m')"),
        ({"strategy": "append"}, "TRIGGER ON UPDATE TBLPROPERTIES ('grebe.strategy' = 'append')"),
        ({"strategy": "replace"}, "TRIGGER ON UPDATE"),
    ],
)  # fmt: skip
def test_F202_the_modes_of_declared_views(refresh: dict[str, str], clause: str) -> None:
    assert declared(**refresh) == said(clause)


WRONG = [
    ("TRIGGER ON UPDATE SCHEDULE EVERY 1 HOUR", {"trigger": "update", "schedule": "EVERY 1 HOUR"}, "two-triggers"),
    ("SCHEDULE EVERY 1 HOUR TARGET_LAG = DOWNSTREAM", {"schedule": "EVERY 1 HOUR", "lag": "downstream"}, "two-triggers"),
    ("TRIGGER ON UPDATE TARGET_LAG = DOWNSTREAM", {"trigger": "update", "lag": "downstream"}, "two-triggers"),
    ("SCHEDULE EVERY 1 HOUR TBLPROPERTIES ('grebe.trigger' = 'manual')", {"trigger": "manual", "schedule": "EVERY 1 HOUR"}, "two-triggers"),
    ("TBLPROPERTIES ('grebe.lag' = '1 h', 'grebe.at_most_every' = '5 s')", {"lag": "1 h", "at_most_every": "5 s"}, "bad-trigger"),
    ("TARGET_LAG = '-5 minutes'", {"lag": "-5 minutes"}, "bad-duration"),
    ("TARGET_LAG = '10'", {"lag": "10"}, "bad-duration"),
    ("TARGET_LAG = '0 s'", {"lag": "0 s"}, "bad-duration"),
    ("TRIGGER ON UPDATE AT MOST EVERY INTERVAL soon", {"trigger": "update", "at_most_every": "soon"}, "bad-duration"),
    ("SCHEDULE CRON '0 24 * * *'", {"schedule": "CRON '0 24 * * *'"}, "bad-schedule"),
    ("SCHEDULE CRON '0 2 * * *' AT TIME ZONE 'Mars/Olympus'", {"schedule": "CRON '0 2 * * *' AT TIME ZONE 'Mars/Olympus'"}, "bad-schedule"),
    ("TBLPROPERTIES ('grebe.trigger' = 'always')", {"trigger": "always"}, "bad-trigger"),
    ("TBLPROPERTIES ('grebe.catch_up' = 'two')", {"catch_up": "two"}, "bad-catch-up"),
    ("TBLPROPERTIES ('grebe.max_failures' = '-1')", {"max_failures": -1}, "bad-max-failures"),
    ("TBLPROPERTIES ('grebe.timeout' = 'late')", {"timeout": "late"}, "bad-duration"),
    ("VERIFY EVERY 1 DAY SAMPLE 101 PERCENT", {"verify": "1 day sample 101 percent"}, "bad-verify"),
    ("VERIFY EVERY 1 DAY SAMPLE 0 PERCENT", {"verify": "1 day sample 0 percent"}, "bad-verify"),
    ("TBLPROPERTIES ('grebe.strategy' = 'merge')", {"strategy": "merge"}, "bad-strategy"),
    ("TBLPROPERTIES ('grebe.grace' = '1')", {"grace": "1"}, "bad-duration"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "given", "code"), WRONG)
def test_F202_what_contradicts_itself_is_told_at_its_place(
    clause: str, given: dict[str, object], code: str
) -> None:
    with pytest.raises(DefinitionError) as in_sql:
        said(clause)
    assert in_sql.value.code == code
    assert in_sql.value.hint
    assert in_sql.value.where is not None
    with pytest.raises(DefinitionError) as in_python:
        with_given(Timing(), given)
    assert in_python.value.code == code
    assert in_python.value.message.lower() == in_sql.value.message.lower()


def test_a_bad_hour_names_its_field() -> None:
    with pytest.raises(DefinitionError) as caught:
        said("SCHEDULE CRON '0 24 * * *'")
    assert "field hour" in str(caught.value.detail)


@pytest.mark.parametrize(
    "clause",
    ["TRIGGER UPDATE", "TRIGGER ON CHANGE", "TRIGGER ON UPDATE AT LEAST EVERY 5 s", "VERIFY 1 DAY",
     "TRIGGER ON UPDATE TRIGGER ON UPDATE", "TARGET_LAG = '1 h' TBLPROPERTIES ('grebe.lag' = '1 h')"],
)  # fmt: skip
def test_clauses_that_are_none(clause: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        said(clause)
    assert caught.value.code == "sql-syntax"


def test_F202_an_unknown_setting_is_named_with_the_closest_one() -> None:
    with pytest.raises(DefinitionError) as caught:
        with_given(Timing(), {"graze": "1 h"})
    assert (caught.value.code, caught.value.hint) == ("unknown-setting", 'did you mean "grace"?')


def test_settings_are_taken_away_by_an_empty_text_and_left_by_none() -> None:
    known = said("TRIGGER ON UPDATE AT MOST EVERY 5 s TARGET_LAG = '1 h'")
    assert with_given(known, {"trigger": None}) == known
    assert with_given(known, {"trigger": ""}) == Timing(lag="1 h")  # its pace goes with it
    assert with_given(known, {"trigger": "manual"}).kind is Trigger.MANUAL
    assert with_given(known, {"lag": "none"}).lag is None
    with pytest.raises(DefinitionError) as caught:
        with_given(known, {"schedule": "EVERY 1 HOUR"})
    assert caught.value.code == "two-triggers"


def test_another_text_says_another_trigger() -> None:
    known = Timing(schedule="EVERY 1 HOUR", lag="1 h", grace="2 h")
    assert known.overlaid(Timing()) == known
    assert known.overlaid(Timing(lag="5 s")) == Timing(
        schedule="EVERY 1 HOUR", lag="5 s", grace="2 h"
    )
    assert known.overlaid(Timing(trigger="update")) == Timing("update", "1 h", grace="2 h")
    assert Timing(lag="downstream").overlaid(Timing(trigger="update")) == Timing("update")


def test_how_often_a_view_is_checked() -> None:
    found = verify_every("every 1 day sample 1 percent")
    assert (found.interval, found.share) == (timedelta(days=1), 0.01)
    assert verify_every("1 hour").share is None
    assert verify_every("2 h sample 0.5%").share == 0.005


# --- records of an older version ----------------------------------------------------------------

DECLARED = json.dumps(
    {"$type": "main.V", "$from": "t", "$refresh": {"mode": "manual", "gracePeriod": "15m"}}
)


@pytest.mark.parametrize(
    ("record", "lag", "grace", "kind"),
    [
        (ViewRecord("v", DECLARED, lag="15m"), None, "15m", Trigger.MANUAL),
        (ViewRecord("v", DECLARED, lag="1 hour"), "1 hour", "15m", Trigger.MANUAL),  # altered since
        (ViewRecord("v", SQL.format("TARGET_LAG = '15m'"), lag="15m"), "15m", None, Trigger.LAG),
        (ViewRecord("v", '{"$type": "V", "$from": "t"}'), None, None, Trigger.UPDATE),
        (ViewRecord("v", '{"$type": "V", "$from": "t"}', schedule="EVERY 1 DAY"), None, None, Trigger.SCHEDULE),
        (ViewRecord("v", DECLARED, lag="15m", timing=()), "15m", None, Trigger.LAG),  # of this version
        (ViewRecord("v", SQL.format("TRIGGER ON UPDATE"), timing=(("later", "x"), ("trigger", "manual"))), None, None, Trigger.MANUAL),
    ],
)  # fmt: skip
def test_F227_what_an_older_version_recorded_is_read_as_it_was_meant(
    record: ViewRecord, lag: str | None, grace: str | None, kind: Trigger
) -> None:
    view = Definition(TableName("lake", "main", "V"), record.definition, load(), record=record)
    assert (view.timing.lag, view.timing.grace, view.timing.kind) == (lag, grace, kind)

"""What objects say of themselves: few lines, in a notebook too, and whatever people wrote is text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import grebe
from grebe.api import Project
from grebe.api.results import Results
from grebe.engine.preview import Plans, RefreshPreview
from grebe.engine.result import RefreshResult
from grebe.engine.standing import Standing
from grebe.engine.verify import Report
from grebe.errors import RefreshError
from grebe.model import Cost, Outcome, Policy, Reason, RunId, State, TableName
from grebe.project.dag import Dag
from grebe.project.explained import Explained, Readiness
from grebe.project.past_runs import Runs
from grebe.project.status import Status, Statuses
from grebe.project.verifying import Verdict, Verdicts
from grebe.registry.records import RunRecord

HOSTILE = [
    "<script>alert(1)</script>",
    "a\"b'c",
    "x" * 300,
    "\u202egnp.exe",
    "&amp;",
    "</title><b>",
]
AT = datetime(2026, 3, 1, tzinfo=UTC)


def objects(name: str) -> list[object]:
    """One of everything that is shown, over a view of that name."""
    view = TableName("lake", "main", name)
    reason = Reason("first-refresh", f"because of {name}")
    error = RefreshError(f"no {name}", hint="x")
    result = RefreshResult(
        view, Outcome.FULL, RunId("r_0"), 2.0, (reason,),
        cost=Cost(Outcome.INCREMENTAL, 9.0, None, Outcome.FULL, 1.0),
    )  # fmt: skip
    failed = RefreshResult(view, Outcome.FAILED, RunId("r_1"), 0.1, (reason,), error=error)
    status = Status(
        view, State.STALE, Policy.AUTO, "10 minutes", None, Standing(State.STALE, (reason,)), None, AT, None, None
    )  # fmt: skip
    preview = RefreshPreview(view, Outcome.FULL, (reason,))
    operators = [{"name": "Filter", "detail": f'"{name}" > 1', "rule": "r", "law": "l"}] * 30
    document = {
        "incremental": True, "strategy": "bag", "fingerprint": "0" * 32, "reasons": [], "notes": [],
        "operators": operators, "hidden": [], "steps": [],
    }  # fmt: skip
    explained = Explained(view, Policy.AUTO, document, (Readiness(str(view), True, "ready"),))
    return [
        result, failed, Results([result, failed]), status, Statuses([status]), preview,
        Plans([preview]), explained, Report(view, 3, ()), Verdicts([Verdict(view, 3)]),
        Runs([RunRecord("r", str(view), outcome=Outcome.FULL, reasons=(reason,), begun_at=AT)]),
        Dag({str(view): []}, {str(view): [name]}, {str(view): "stale"}),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["daily", *HOSTILE])
def test_objects_say_themselves_in_ten_lines_and_never_as_markup(name: str) -> None:
    for item in objects(name):
        assert len(str(item).splitlines()) <= 10, type(item)
        if not isinstance(item, Dag):
            assert len(repr(item)) < 5_000 or isinstance(item, Status | RefreshPreview)
        shown = item._repr_mimebundle_()  # type: ignore[attr-defined]
        assert shown["text/plain"]
        for kind in ("text/html", "image/svg+xml"):
            text = shown.get(kind, "")
            assert "<script" not in text
            assert "<b>" not in text
        if "image/svg+xml" in shown:
            ET.fromstring(shown["image/svg+xml"])


def test_a_result_says_that_the_other_way_would_have_been_cheaper() -> None:
    shown = str(objects("daily")[0]).splitlines()
    assert shown[1].strip() == "incremental took 9.0 s, full would take about 1.0 s"


def test_the_picture_of_a_graph() -> None:
    graph = Dag(
        {"lake.main.a": [], "lake.main.b": ["lake.main.a"]},
        {"lake.main.a": ["lake.main.t"], "lake.main.b": []},
        {"lake.main.a": "fresh", "lake.main.b": "never refreshed"},
    )
    picture = graph.svg()
    root = ET.fromstring(picture)
    titles = [item.text for item in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "lake.main.a: fresh" in titles
    assert "lake.main.t: table" in titles
    assert picture.count("marker-end") == 2
    assert "prefers-color-scheme: dark" in picture
    assert "grebe-never-refreshed" in picture
    assert "<script" not in picture


def test_a_project_says_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM t")
    with Project.open(tmp_path) as project:
        assert str(project).splitlines()[0] == f"project {tmp_path}: 1 views, 0 of them with runs"
        shown = project._repr_mimebundle_()
        assert "lake.main.v" in shown["text/html"]
    assert not (tmp_path / ".grebe").exists()


def test_a_program_says_itself_in_two_lines() -> None:
    made = grebe.compile_ivm(
        "SELECT k, SUM(x) AS total FROM t GROUP BY k",
        schemas={"t": {"k": "INTEGER", "x": "INTEGER"}},
    )
    for text in (str(made), repr(made), made._repr_mimebundle_()["text/plain"]):
        assert len(text.splitlines()) == 2
        assert "program for" in text


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert grebe.__version__ == version("grebe")


CELLS = (
    "%load_ext grebe",
    "%grebe open {folder}",
    "%grebe status",
    "%grebe dag",
    "%grebe nonsense",
    "%%grebe view\nSELECT 1",
)


def test_magics_in_a_real_kernel(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM t")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell.format(folder=tmp_path)) for cell in CELLS]
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    _, opened, status, dag, nonsense, empty = [cell.outputs for cell in notebook.cells]
    assert "1 views" in opened[0]["data"]["text/plain"]
    assert "never refreshed" in status[0]["data"]["text/html"]
    assert dag[0]["data"]["image/svg+xml"].startswith("<svg")
    for outputs in (nonsense, empty):
        assert outputs[0]["name"] == "stderr"
        assert "error [usage]" in outputs[0]["text"]
        assert "Traceback" not in outputs[0]["text"]

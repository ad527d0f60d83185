"""What DuckDB reads is what is kept: literals, operators without brackets, DuckDB's own examples."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from evidence import LongRun
from grebe import UnsupportedSQLError, compile_ivm
from grebe.program import same_to
from programs.corpus import LITERALS, Corpus, examples, operator_pairs
from programs.lake import Lake


def test_F029_literals(lake: Lake) -> None:
    corpus = Corpus(lake)
    corpus.run(list(LITERALS[::3]))
    assert corpus.wrong == []
    assert corpus.counts["equal"] > 15


def test_F029_some_pairs_of_operators_and_examples(lake: Lake) -> None:
    corpus = Corpus(lake)
    rng = Random(7)
    corpus.run([*rng.sample(operator_pairs(), 15), *rng.sample(examples(lake.con), 15)])
    assert corpus.wrong == []
    assert corpus.counts["equal"] > 5


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_meaning_duckdb(tmp_path: Path, long_run: LongRun) -> None:
    """All of the corpus in shares; a share is a seed."""
    shares = 40
    for seed in long_run.seeds():
        folder = tmp_path / str(seed)
        folder.mkdir()
        lake = Lake(folder)
        corpus = Corpus(lake)
        texts = [*LITERALS, *operator_pairs(), *examples(lake.con)]
        corpus.run(texts[seed % shares :: shares])
        assert corpus.wrong == []
        long_run.add(**{name.replace(" ", "_"): count for name, count in corpus.counts.items()})
        lake.close()


def test_F029_a_definition_without_algebra_is_its_own_characters() -> None:
    sql = "SELECT g, /* mine */ g + q AS f\nFROM main.t, repeat(1, 3) AS r(q) -- all of it"
    view = compile_ivm(sql, policy="auto", schemas={"main.t": {"g": "INTEGER"}})
    assert "SELECT g, /* mine */ g + q AS f\nFROM (SELECT * FROM" in view.create_mv


def test_F029_what_the_engine_reads_otherwise_is_refused_or_kept() -> None:
    def never(_one: str, _other: str) -> bool:
        return False

    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm("SELECT g, SUM(x + 1) AS s FROM t GROUP BY g", judge=never)
    assert caught.value.reasons[-1].code == "translation-differs"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT a+b*2 FROM t", "SELECT ((a) + ((b) * (2))) FROM t", True),
        ("SELECT mean(a) FROM t", "SELECT AVG(a) FROM t", True),
        ("SELECT a & b << 1 FROM t", "SELECT a & (b << 1) FROM t", False),
        ("SELECT -1::VARCHAR FROM t", "SELECT (-1)::VARCHAR FROM t", False),
        ("SELECT 'O''Brien' FROM t", "SELECT concat('O', 'Brien') FROM t", False),
        ("SELECT log10(a) FROM t", "SELECT log(10, a) FROM t", False),
        ("SELECT a FROM t", "SELECT b FROM t", False),
        ("SELECT a FROM", "SELECT a FROM", False),
    ],
)
def test_F029_duckdb_judges(lake: Lake, one: str, other: str, same: bool) -> None:
    assert same_to(lake.con)(one, other) is same

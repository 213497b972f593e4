"""A run that erases nothing does not look like a success."""

import re
from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.erasures import erased
from support.lakes import ingested, read_table
from support.people import people_disk
from support.views import viewed

_PAGE = Path(__file__).parents[2] / "docs" / "erasure.md"
_FRAME = b"\0\0\0\0\7"


@pytest.fixture
def framed(tmp_path: Path) -> Path:
    """A lake whose keys are Avro strings after a registry's frame, and JSON strings."""
    keys = [_FRAME + b"\x16customer-17", b'"customer-17"', _FRAME + b"\x18customer-170", b"other"]
    records = [Record(key, b"v%d" % at) for at, key in enumerate(keys)]
    log = Partition("orders", 0, [Segment(0, [record_batch(0, records)])])
    write_log_dir(tmp_path / "disk", [log])
    ingested(tmp_path / "disk", tmp_path / "lake")
    return tmp_path / "lake"


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "run"])
def test_longer_keys_are_counted_and_end_with_3_each_time(
    framed: Path, engine: Engine, dry_run: bool
) -> None:
    for _ in range(2):
        summary = erased(framed, key="customer-17", dry_run=dry_run, engine=engine)
        assert (
            "nothing erased: no record has this key, of 11 bytes; 3 records of these topics have a"
            " longer key that contains it (2 of them after a schema registry's frame): give a whole"
            " key with --key-hex, or use --where"
        ) in summary.to_text()
        assert summary.exit_code == 3
    assert len(read_table(framed, "records")) == 4


def test_statement_of_the_page_finds_the_whole_keys(framed: Path) -> None:
    [statement] = re.findall(r"SELECT DISTINCT hex\(key\).*", _PAGE.read_text("utf-8"))
    found = {row["key_hex"] for row in viewed(framed, statement)}
    keys = {row["key"] for row in read_table(framed, "records")} - {b"other"}
    assert found == {key.hex().upper() for key in keys}


def test_whole_key_erases_it_and_the_next_run_finds_nothing_with_0(framed: Path) -> None:
    key = (_FRAME + b"\x16customer-17").decode("latin-1")
    assert erased(framed, key=key).records == 1
    summary = erased(framed, key=key)
    assert (summary.exit_code, summary.findings.of(FindingKind.NOTHING_ERASED)) == (0, [])


def test_first_run_for_an_unknown_key_ends_with_3(framed: Path) -> None:
    summary = erased(framed, key="nobody")
    assert "nothing erased: no record has this key, of 6 bytes" in summary.to_text()
    assert (summary.exit_code, erased(framed, key="nobody").exit_code) == (3, 0)


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "run"])
def test_condition_that_holds_for_no_record_ends_with_3(framed: Path, dry_run: bool) -> None:
    summary = erased(framed, where="key_text = 'nobody'", dry_run=dry_run)
    assert "nothing erased: the condition holds for no record" in summary.to_text()
    assert summary.exit_code == 3


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (
            "CAST(value_text AS INTEGER) = 1",
            "ConversionException: Could not convert string to INT32 in column value_text",
        ),
        ("CAST(value_text AS DATE) < today()", "ConversionException: invalid date field format"),
        ("CAST(error(value_text) AS BOOLEAN)", "InvalidInputException"),
        ("json_extract_string(value_text, '$.a') = '1'", "InvalidInputException: Malformed JSON"),
    ],
)
def test_condition_that_fails_on_a_record_is_a_wrong_call_without_its_value(
    tmp_path: Path, engine: Engine, where: str, reason: str
) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 20), lake)
    with pytest.raises(WrongCallError) as failure:
        erased(lake, where=where, engine=engine)
    assert f"the condition fails on a record ({reason})" in str(failure.value)
    assert "secret" not in str(failure.value)
    assert not (lake / "erasures").exists()


def test_topic_that_begins_with_an_underscore_needs_a_glob_that_does(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(people_disk(tmp_path / "disk", 9, topics=["orders", "_schemas"]), lake)

    def topics() -> set[str]:
        return {row["topic"] for row in read_table(lake, "records")}

    summary = erased(lake, where="true", topics=["*"])
    assert topics() == {"_schemas"}
    assert "left out: _schemas: it begins with _, so it needs a glob that does" in summary.to_text()
    assert summary.exit_code == 3
    with pytest.raises(WrongCallError, match="needs a glob that does"):
        erased(lake, where="true", topics=["?schemas"])
    assert erased(lake, where="true", topics=["*", "!_*"], dry_run=True).left_out == {}
    assert erased(lake, where="true", topics=["_sch*"]).exit_code == 0
    assert topics() == set()

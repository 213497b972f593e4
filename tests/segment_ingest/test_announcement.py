"""Who meets another run is told before the work, and who lost to it what that run committed."""

import io
import json
from pathlib import Path

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_replay.replay import replay
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from seglake.pipelines.progress import RunReporter
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.pipelines.segment_ingest.report.ingest_summary import IngestSummary
from seglake.pipelines.segment_ingest.run_context import ScanContext
from seglake.pipelines.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.lakes import content, ingested, ingested_in_pieces, local_scan, replayed, versions
from support.made_logs import make_log_dir
from support.meanwhile import Meanwhile, once

_EDGES = {("orders", 0): [0, 20, 40], ("orders", 1): [0, 5], ("payments", 0): [0, 10]}


def _running(lake: Path) -> list[Path]:
    folder = Path(LakeTables(str(lake), LocalStorage()).running_folder)
    return [*folder.iterdir()] if folder.exists() else []


def test_of_two_runs_each_says_what_it_should(data: Path, lake: Path, tmp_path: Path) -> None:
    make_log_dir(data, _EDGES)
    others: list[IngestSummary] = []
    engine = Meanwhile(once(lambda: others.append(ingested(data, lake))))
    summary = ingested(data, lake, engine=engine)
    (other,) = others
    # Who came second saw the first at work; who was slower is told what it lost.
    (note,) = other.notes
    assert note.startswith(f"another run ({summary.run_id}, on ")
    assert summary.notes == []
    assert (summary.records, summary.exit_code, other.records) == (0, 0, 55)
    assert [line for line in summary.to_text().splitlines() if "concurrent" in line] == [
        "a concurrent run ingested: 55 offsets in orders-0 (40), payments-0 (10), orders-1 (5)"
        f" (run id {other.run_id})"
    ]
    assert json.loads(summary.to_json())["concurrent_ranges"][1]["partition"] == "orders-1"
    ingested(data, tmp_path / "alone")
    assert content(lake, "records") == content(tmp_path / "alone", "records")
    assert imbalances_of(lake) == []
    assert _running(lake) == []


def test_only_what_is_lost_is_named(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    ingested(data, lake, select={"topics": ["payments"]})
    make_log_dir(data, {**_EDGES, ("payments", 0): [0, 10, 15]})
    others: list[IngestSummary] = []

    def take() -> None:
        others.append(ingested(data, lake, select={"topics": ["payments"]}))

    summary = ingested(data, lake, engine=Meanwhile(once(take)))
    (lost,) = summary.findings.concurrent_ranges
    assert (lost.partition, lost.start_offset, lost.next_offset) == ("payments-0", 10, 15)
    assert (summary.topics, summary.records) == (["orders"], 45)


def test_runs_on_other_topics_say_nothing_of_each_other(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    others: list[IngestSummary] = []

    def take() -> None:
        others.append(ingested(data, lake, select={"topics": ["payments"]}))

    summary = ingested(data, lake, engine=Meanwhile(once(take)), select={"topics": ["orders"]})
    assert (summary.notes, others[0].notes) == ([], [])
    assert summary.findings.concurrent_ranges == []


@pytest.mark.parametrize("ending", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_is_ended_takes_its_hint_away(
    ending: type[BaseException], data: Path, lake: Path
) -> None:
    make_log_dir(data, _EDGES)

    def end() -> None:
        assert len(_running(lake)) == 1
        raise ending

    with pytest.raises(ending):
        ingested(data, lake, engine=Meanwhile(end))
    assert _running(lake) == []


def test_a_run_without_news_or_a_dry_one_writes_no_file(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    ingested(data, lake, dry_run=True)
    assert not lake.exists()
    ingested(data, lake)
    before = versions(lake)
    Path(LakeTables(str(lake), LocalStorage()).running_folder).rmdir()
    ingested(data, lake)
    make_log_dir(data, {**_EDGES, ("payments", 0): [0, 10, 15]})
    ingested(data, lake, dry_run=True)
    assert not Path(LakeTables(str(lake), LocalStorage()).running_folder).exists()
    assert versions(lake) == before


def test_a_long_run_says_again_and_again_that_it_goes_on(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    seen: list[int] = []

    def look_and_take_away() -> None:
        (hint,) = _running(lake)
        seen.append(json.loads(hint.read_bytes())["seen_at_ms"])
        hint.unlink()  # as one does who believes it to be old

    engine = Meanwhile(look_and_take_away)
    summary = ingested_in_pieces(
        data, lake, "read_committed", split_bytes=1, wave_bytes=1, engine=engine
    )
    assert summary.records == 55
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert _running(lake) == []


def test_it_is_said_at_once_and_not_only_at_the_end(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    said = io.StringIO()

    def scan(engine: Engine, verbosity: int) -> ScanContext:
        reporter = RunReporter(said, verbosity=verbosity)
        return ScanContext(
            storage=LocalStorage(), settings=Settings(), engine=engine, reporter=reporter
        )

    def look() -> None:
        assert said.getvalue().startswith("seglake: another run (")
        assert said.getvalue().endswith("what one of them commits first, the other leaves out\n")

    inner = Meanwhile(look)
    outer = Meanwhile(once(lambda: ingest([str(data)], str(lake), scan(inner, 0))))
    ingest([str(data)], str(lake), scan(outer, -1))
    assert said.getvalue().count("another run") == 1


def test_a_replay_says_who_filled_a_gap_first(tmp_path: Path) -> None:
    edges = {("orders", 0): [0, 20, 40]}
    one, two = (make_log_dir(tmp_path / name, edges, broker_id=n) for n, name in enumerate("ab"))
    log = one / "orders-0" / f"{20:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    lake = tmp_path / "lake"
    ingested(one, lake, isolation="read_committed")
    others: list[ReplaySummary] = []
    engine = Meanwhile(once(lambda: others.append(replayed(lake, two))))
    summary = replay(str(lake), [str(two)], local_scan(Settings(), engine))
    (other,) = others
    assert (summary.repaired_gaps, other.repaired_gaps) == (0, 1)
    assert other.notes[0].startswith(f"another run ({summary.run_id}, on ")
    line = f"a concurrent run filled: 5 offsets in orders-0 (5) (run id {other.run_id})"
    assert line in summary.to_text().splitlines()
    assert (summary.exit_code, summary.left_out) == (0, {})
    assert imbalances_of(lake) == []
    assert _running(lake) == []


def test_a_conversion_to_parquet_holds_no_hint(data: Path, tmp_path: Path) -> None:
    from seglake.pipelines.segment_ingest.parquet_export import convert

    make_log_dir(data, _EDGES)
    folder = tmp_path / "once"
    seen: list[int] = []
    engine = Meanwhile(lambda: seen.append(len(_running(folder))))
    convert([str(data)], str(folder), local_scan(Settings(), engine))
    assert seen == [1]
    assert (folder / "_SUCCESS").is_file()
    assert [*folder.rglob("_seglake")] == []

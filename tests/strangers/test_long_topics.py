"""Topics of 250 to 255 characters, as brokers before 0.10 allow them."""

from pathlib import Path

import duckdb
import pytest

from seglake.cli import register_command, sql_command
from seglake.findings.kinds import FindingKind
from seglake.lake.parquet_files import folder_value
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.pipelines.segment_ingest.parquet_export import convert
from seglake.settings.settings import Settings
from seglake.task_engine.engine import Engine, LocalEngine
from support.audits import audited, checked
from support.lakes import ingested, local_scan, maintained, read_table, retaken
from support.made_logs import make_log_dir

# With "-0" a file system of 255 bytes has room for 253 of them.
_TOPICS = ["t" * 249, "t" * 250, f"{'t' * 250}.a", f"{'t' * 250}_a_"]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "d", {(topic, 0): [0, 4] for topic in _TOPICS})


def _taken(lake: Path) -> list[tuple[str, int]]:
    return sorted((row["topic"], row["offset"]) for row in read_table(lake, "records"))


def test_long_topics_are_ingested_under_their_whole_names(
    log_dir: Path, lake: Path, engine: Engine
) -> None:
    assert ingested(log_dir, lake, engine=engine).exit_code == 0
    expected = sorted((topic, offset) for topic in _TOPICS for offset in range(4))
    assert _taken(lake) == expected
    assert audited(lake, engine=engine).exit_code == 0
    assert not [check for check in checked(log_dir, lake) if check.has_problem]
    whole = Selection(is_whole=True)
    assert retaken(lake, log_dir, selection=whole, select={"topics": [_TOPICS[1]]}).records == 4
    maintained(lake)
    assert audited(lake).exit_code == 0


def test_queries_have_the_whole_names(
    log_dir: Path, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(log_dir, lake)
    counts = "SELECT topic, count(*) AS n FROM {} GROUP BY topic"
    given = ["--lake", str(lake), "--csv", counts.format("records")]
    assert sql_command.main(given) == 0
    expected = sorted(f"{topic},4" for topic in _TOPICS)
    assert sorted(capsys.readouterr().out.splitlines()[1:]) == expected
    assert register_command.main(["--lake", str(lake), "--print", "duckdb-files"]) == 0
    with duckdb.connect() as own:
        own.execute(capsys.readouterr().out)
        rows = own.execute(counts.format("records")).fetchall()
    assert sorted(f"{topic},{count}" for topic, count in rows) == expected


def test_a_topic_of_255_characters_in_a_checkpoint_leaves_the_others_as_they_are(
    log_dir: Path, lake: Path
) -> None:
    longest = "u" * 255
    (log_dir / "recovery-point-offset-checkpoint").unlink()
    marks = log_dir / "replication-offset-checkpoint"
    version, count, *rest = marks.read_text().splitlines()
    lines = [version, str(int(count) + 1), *rest, f"{longest} 0 7"]
    marks.write_text("\n".join(lines) + "\n")
    summary = ingested(log_dir, lake)
    (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
    assert (summary.exit_code, short.place, short.ranges) == (3, f"{longest}-0", ((0, 7),))
    assert len(_taken(lake)) == 16


def test_plain_parquet_says_that_it_has_no_folder_of_such_a_name(log_dir: Path, lake: Path) -> None:
    with LocalEngine(1) as engine:
        summary = convert([str(log_dir)], str(lake), local_scan(Settings(), engine))
    assert (summary.exit_code, sorted(summary.left_out)) == (3, sorted(_TOPICS[1:]))
    assert not (lake / "_SUCCESS").exists()


def test_folders_of_long_topics_differ_and_fit() -> None:
    folders = [folder_value(topic) for topic in _TOPICS]
    assert (folders[0], len(set(folders))) == (_TOPICS[0], len(_TOPICS))
    assert {len(f"topic={folder}") for folder in folders} == {255}

"""docs/access.md says where payload is, and who can read it: searched in every file of lakes."""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from seglake.cli.main import main
from seglake.lake.rule_table import ERASURES
from seglake.lake.tables import TABLES
from seglake.lake.value_tables import VALUE_TABLES
from seglake.pipelines.segment_ingest.parquet_export import convert
from seglake.settings.settings import Settings
from seglake.task_engine.engine import LocalEngine
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.lakes import Sections, ingested, local_scan, read_table, replayed
from support.payload_disks import NAMES, PAYLOADS, write_damaged_disks, write_people_disk
from support.payload_places import IN_VALUES, places_of

_PAGE = (Path(__file__).parents[2] / "docs" / "access.md").read_text("utf-8")
_ROW = re.compile(r"^\| `([^`]+)` \|(.*)\|(.*)\|$", re.MULTILINE)
_NAMED = re.compile(r"`([^`]+)`")
_LOCAL = ("--engine", "local", "--set", "limits.local_processes=1", "-q")
_PARTITIONS = ("partition", "_partition", "record_partition")
_Places = Mapping[str, set[str]]


def _listed(column: int) -> dict[str, set[str]]:
    """What the page's first table lists: 1 for payload, 2 for names."""
    section = _PAGE.partition("## Where payload is")[2].partition("\n## ")[0]
    rows = {row[0]: _columns(row[column]) for row in _ROW.findall(section)}
    return {table: columns for table, columns in rows.items() if columns}


def _columns(cell: str) -> set[str]:
    """The columns that a cell names, each in a code span, or as those of a value."""
    return {*_NAMED.findall(cell), *([IN_VALUES] if IN_VALUES in cell else [])}


def _copier(lake: Path, copy: Path) -> Callable[[str], None]:
    """Return what copies a lake as a run leaves it that is killed before its first commit."""

    def after(step: str) -> None:
        if step == "redo" and not copy.exists():
            shutil.copytree(lake, copy)

    return after


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that seglake writes, with the page's umask and group.

    It has the `lake`, copies of it from the middle of commits (`killed`), what other commands wrote
    (`other`), and a conversion (`plain`).
    """
    folder = tmp_path_factory.mktemp("access")
    write_damaged_disks(folder / "disks")
    write_people_disk(folder / "disks" / "2")
    before = os.umask(0o027)
    try:
        _write_lake(folder)
        _write_others(folder / "lake", folder / "other")
        with LocalEngine(1) as engine:
            scan = local_scan(Settings(), engine)
            convert([str(folder / "disks" / "2")], str(folder / "plain"), scan)
    finally:
        os.umask(before)
    return folder


def _write_lake(folder: Path) -> None:
    """Ingest twice, the folder of a topic is closed in between; replay, decode, maintain."""
    disks, lake = folder / "disks", folder / "lake"
    lake.mkdir()
    os.chown(lake, -1, _group())
    lake.chmod(0o2750)
    everything = {"internal_topics": True}
    settings = Sections(
        select=everything,
        limits={"max_decompressed_batch_bytes": 10},
        read={"losing_tails": "rows"},
    )
    ingested([disks / "0", disks / "1"], lake, makes_lake=True, **settings)
    _closed(lake).chmod(0o2700)
    ingested(disks, lake, after=_copier(lake, folder / "killed" / "ingest"), **settings)
    copies = _copier(lake, folder / "killed" / "replay")
    replayed(lake, after=copies, read={"salvage": True}, select=everything)
    _called("deserialize", "--lake", lake, *_LOCAL)
    _called("latest", "--lake", lake, "--topics", "*")
    key = (PAYLOADS["key"] + b"22").decode()
    _called("erase", "--lake", lake, "--topics", "orders", "--key", key, *_LOCAL)
    _called("maintain", "--lake", lake, *_LOCAL)


def _write_others(lake: Path, into: Path) -> None:
    into.mkdir()
    _called("report", "--lake", lake, "--output", into / "report.html")
    _called("register", "--lake", lake, "--database", "kafka", "--iceberg", into / "iceberg")
    written = ("--metrics", into / "metrics", "--report", into / "report2.html")
    _called("audit", "--lake", lake, *_LOCAL, *written)
    facts = "SELECT topic, partition, octet_length(value) FROM current_records"
    _called("sql", "--lake", lake, "--parquet", into / "facts.parquet", facts)


def _closed(lake: Path) -> Path:
    return lake / "records" / "topic=__consumer_offsets"


def _places(folder: Path, hidden: Mapping[str, bytes]) -> _Places:
    """Return where hidden bytes are in the lake, and in the copies of it."""
    found: dict[str, set[str]] = {}
    for lake in (folder / "lake", *(folder / "killed").iterdir()):
        for table, columns in places_of(lake, hidden).items():
            found.setdefault(table, set()).update(columns)
    return found


def _group() -> int:
    """A group that is not the user's first one, if this user may give files to it."""
    return 54321 if os.geteuid() == 0 else os.getegid()


def _called(*arguments: str | Path) -> None:
    assert main([str(each) for each in arguments]) in (0, 3)


def test_payload_is_only_where_the_page_says(folder: Path) -> None:
    assert _places(folder, PAYLOADS) == _listed(1)


def test_names_of_people_and_machines_are_only_where_the_page_says(folder: Path) -> None:
    assert _places(folder, NAMES) == _listed(2)


def test_a_conversion_has_payload_in_the_same_columns(folder: Path) -> None:
    plain = places_of(folder / "plain", PAYLOADS)
    assert plain == {"records": {"key", "value", "headers"}}


def test_what_other_commands_write_has_no_payload(folder: Path) -> None:
    written = {path.name for path in (folder / "other").iterdir()}
    assert written == {"report.html", "report2.html", "iceberg", "metrics", "facts.parquet"}
    assert places_of(folder / "other", PAYLOADS) == {}


def test_every_table_is_on_the_page(folder: Path) -> None:
    made = {path.name for path in (folder / "lake").iterdir()} - {"typed", "latest"}
    assert made == {table.name for table in (*TABLES, *VALUE_TABLES, ERASURES)}
    assert [name for name in made if f"`{name}`" not in _PAGE] == []


def test_compactions_by_other_tools_put_no_payload_into_logs(folder: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(folder / "lake", tmp_path / "lake")
    for log in [*lake.rglob("_delta_log")]:
        table = DeltaTable(str(log.parent))
        names = [each.name for each in table.schema().fields]
        order = next((name for name in names if name in _PARTITIONS), names[0])
        table.alter.set_table_properties({"delta.appendOnly": "false"})
        table.optimize.z_order([order])
        table.create_checkpoint()
    found = places_of(lake, PAYLOADS | NAMES)
    assert [name for name in found if name.endswith("_delta_log")] == []
    assert found.keys() == (_listed(1).keys() | _listed(2).keys()) - {"records/_seglake"}


def test_by_these_settings_payload_of_a_damaged_disk_is_in_records_only(tmp_path: Path) -> None:
    write_damaged_disks(tmp_path / "disks")
    write_people_disk(tmp_path / "disks" / "2")
    nothing = {"max_raw_bytes": 0}
    ingested(tmp_path / "disks", tmp_path / "lake", quarantine=nothing)
    replayed(tmp_path / "lake", tmp_path / "disks", quarantine=nothing)
    places = places_of(tmp_path / "lake", PAYLOADS)
    assert places == {"records": {"key", "value", "headers"}}
    damage = read_table(tmp_path / "lake", "quarantine")
    assert len(damage) > 9
    assert {(bool(row["raw"]), row["raw_is_complete"]) for row in damage} == {(False, False)}


def test_rejected_values_have_no_bytes_by_that_setting(folder: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(folder / "killed" / "ingest", tmp_path / "lake")
    ingested(folder / "disks", lake)
    _called("deserialize", "--lake", lake, *_LOCAL, "--set", "quarantine.max_raw_bytes=0")
    rejects = DeltaTable(str(lake / "value_rejects")).to_pyarrow_table()
    assert rejects.num_rows
    assert rejects["raw"].unique().to_pylist() == [b""]


def test_topics_that_are_left_out_are_in_no_file(folder: Path, tmp_path: Path) -> None:
    topics = ("!orders", "!people", "!typed", "!_schemas")
    ingested(folder / "disks", tmp_path / "lake", select={"topics": topics})
    payloads = {"header": PAYLOADS["header"], "header name": PAYLOADS["header name"]}
    assert read_table(tmp_path / "lake", "records")
    assert places_of(tmp_path / "lake", payloads) == {}


def test_files_have_the_umask_s_permissions_and_their_folder_s_group(folder: Path) -> None:
    lake, other = ([*(folder / name).rglob("*")] for name in ("lake", "other"))
    lake.remove(_closed(folder / "lake"))
    assert {_mode(path) for path in (*lake, *other) if path.is_file()} == {0o640}
    assert {_mode(path) for path in lake if path.is_dir()} == {0o2750}
    assert {_mode(path) for path in other if path.is_dir()} == {0o750}
    assert {path.stat().st_gid for path in lake} == {_group()}


def test_a_closed_topic_s_folder_stays_closed_when_files_come_into_it(folder: Path) -> None:
    rows = read_table(folder / "lake", "records")
    assert len({row["generation"] for row in rows if row["topic"] == "__consumer_offsets"}) > 1
    assert _mode(_closed(folder / "lake")) == 0o2700


_VIEW = re.compile(r"^CREATE OR REPLACE VIEW (\w+) AS (SELECT\n.+?);$", re.MULTILINE | re.DOTALL)
_HIDDEN_KEY, _OPEN_KEY = b"Hk5HkeyCanary", b"Ok6TkeyCanary"
_RECORDS = {
    "customers_eu": (_HIDDEN_KEY, None),
    "customers-us": (_OPEN_KEY, None),
    "orders": (_OPEN_KEY, None),
}


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a topic that the page's view hides, and with two that it does not."""
    folder = tmp_path_factory.mktemp("topics")
    logs = [
        Partition(topic, 0, [Segment(0, [record_batch(0, [Record(key, key) for key in keys])])])
        for topic, keys in _RECORDS.items()
    ]
    write_log_dir(folder / "disk", logs)
    ingested(folder / "disk", folder / "lake")
    return folder / "lake"


def _views() -> dict[str, str]:
    return dict(_VIEW.findall(_PAGE))


def _expected() -> list[tuple[object, ...]]:
    """Topic, offset, hash, key and value of the masked records."""
    digest = hashlib.sha256(b"a long secret" + _HIDDEN_KEY.hex().upper().encode()).hexdigest()
    return [
        ("customers-us", 0, None, _OPEN_KEY, _OPEN_KEY),
        ("customers-us", 1, None, None, None),
        ("customers_eu", 0, digest, None, None),
        ("customers_eu", 1, None, None, None),
        ("orders", 0, None, _OPEN_KEY, _OPEN_KEY),
        ("orders", 1, None, None, None),
    ]


def test_the_page_s_views_hide_payload_in_duckdb(
    topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _called("register", "--lake", topics, "--print", "duckdb-files")
    printed = capsys.readouterr().out
    blocks = re.findall(r"^```sql\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
    with duckdb.connect() as connection:
        connection.execute(printed + "".join(blocks))
        columns = 'topic, "offset", key_hash, key, value'
        found = connection.execute(f"SELECT {columns} FROM masked_records ORDER BY 1, 2").fetchall()
        facts = connection.execute("SELECT key_bytes, value_bytes FROM record_facts").fetchall()
        hidden = connection.execute(
            "SELECT headers FROM masked_records WHERE topic = 'customers_eu'"
        ).fetchall()
    assert found == _expected()
    assert sorted(facts, key=repr) == [(13, 13)] * 3 + [(None, None)] * 3
    assert hidden == [(None,)] * 2


@pytest.mark.spark
def test_the_page_s_views_hide_payload_in_spark(topics: Path, spark_session: SparkSession) -> None:
    session = spark_session.newSession()  # whose temporary views no other test sees
    records = session.read.format("delta").load(str(topics / "records"))
    records.createOrReplaceTempView("current_records")
    for name, select in _views().items():
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {select}")
    columns = "topic, offset, key_hash, key, value"
    rows = session.sql(f"SELECT {columns} FROM masked_records ORDER BY 1, 2").collect()
    facts = session.sql("SELECT DISTINCT key_bytes, value_bytes FROM record_facts").collect()
    found = [tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in rows]
    assert found == _expected()
    assert sorted(map(tuple, facts), key=repr) == [(13, 13), (None, None)]


def test_a_copy_by_sql_has_what_the_view_shows(topics: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "masked.sql").write_text(_views()["masked_records"])
    written = ("--parquet", shared / "masked.parquet", "-f", tmp_path / "masked.sql")
    _called("sql", "--lake", topics, *written)
    rows = pq.read_table(shared / "masked.parquet").sort_by([("topic", "ascending")]).to_pylist()
    names = ("topic", "offset", "key_hash", "key", "value")
    found = [tuple(row[name] for name in names) for row in rows]
    assert sorted(found, key=repr) == sorted(_expected(), key=repr)
    assert places_of(shared, {"hidden": _HIDDEN_KEY}) == {}
    assert places_of(shared, {"open": _OPEN_KEY})[""] >= {"key", "value"}


def test_readers_need_the_folders_of_all_topics_of_a_table(topics: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(topics, tmp_path / "lake")
    shutil.rmtree(lake / "records" / "topic=customers_eu")
    assert main(["sql", "--lake", str(lake), "SELECT count(*) FROM topic_orders"]) == 1
    assert main(["sql", "--lake", str(lake), "SELECT count(*) FROM quarantine"]) == 0


@pytest.mark.spark
def test_spark_reads_topics_beside_one_whose_folder_is_closed(
    topics: Path, tmp_path: Path, spark_session: SparkSession
) -> None:
    lake = shutil.copytree(topics, tmp_path / "lake")
    shutil.rmtree(lake / "records" / "topic=customers_eu")
    records = spark_session.read.format("delta").load(str(lake / "records"))
    assert records.where("topic = 'orders'").select("key").count() == 2


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)

"""Who follows docs/rescue.md knows what is lost, why, and where the rest is: on real disks."""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pytest

from seglake.cli.main import main
from support.broker_disks import log_dir, partitions
from support.corrupt_cases import corrupt_case
from support.oracle import Isolation, expected_records, partition_dump

PAGE = Path(__file__).parents[2] / "docs" / "rescue.md"
_STEP = re.compile(
    r"^```bash\n(.*?)^```$|`(seglake [a-z]+ --[^`]+|SELECT [^`]+)`", re.MULTILINE | re.DOTALL
)
_OF_A_CLUSTER = ("kafka-", "spark-submit")  # tests/services has one
_PLACE = re.compile(r"(?<![\w.}])/(rescue|more|removed|data/lake|mnt/share/lake)\b")
_OF_SEGLAKE = ("seglake ", "SELECT ")
_COMMANDS = (*_OF_SEGLAKE, *_OF_A_CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadCluster:
    """The disks of a cluster that died.

    Attributes:
        first, later: log dirs that are there at once, and those that turn up later.
        topic: the one to ask for.
    """

    first: tuple[Path, ...]
    later: tuple[Path, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and how it ended."""

    exit_code: int
    printed: str

    @property
    def rows(self) -> list[dict[str, Any]]:  # Any: what JSON can hold
        return [json.loads(line) for line in self.printed.splitlines()]


class Reader:
    """Somebody who has followed the page to its end.

    Attributes:
        folder: has `rescue`, `more`, `data/lake`, its copy and what the commands wrote.
        ran: each step as the page has it, and what came of it.
    """

    def __init__(self, folder: Path, cluster: DeadCluster) -> None:
        self.folder = folder
        self._topic = cluster.topic
        for name, disks in (("rescue", cluster.first), ("more", cluster.later)):
            for number, path in enumerate(disks):
                shutil.copytree(path, folder / name / f"disk{number}")
        self.ran: dict[str, Ran] = {}
        for step in steps():
            if "/mnt/share/lake" in step and not (folder / "mnt").exists():
                shutil.copytree(folder / "data" / "lake", folder / "mnt" / "share" / "lake")
            if "--source /removed" not in step or (folder / "removed").exists():
                self.ran[step] = self._run(step)

    def looks(self) -> list[str]:
        """Return the commands that did not end with exit code 0, each with its code."""
        return [f"{ran.exit_code} {step}" for step, ran in self.ran.items() if ran.exit_code]

    def answer(self, *, of: str) -> list[dict[str, Any]]:
        """Return the rows that the page's first query of a table or view gave."""
        found = next(ran for step, ran in self.ran.items() if f" FROM {of}" in step)
        return found.rows

    def asked(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of another query, after the page's end."""
        return self._run(query).rows

    def _run(self, step: str) -> Ran:
        bound = re.sub(r"\borders\b", self._topic, step)
        if not bound.startswith(_OF_SEGLAKE):
            return self._shell(bound)
        if bound.startswith("SELECT"):
            return self._seglake(["sql", "--lake", "/data/lake", "--json", bound])
        command, _, file = bound.partition(" > ")
        ran = self._seglake(shlex.split(command.partition(" | ")[0])[1:])
        if file:
            (self.folder / file).write_text(ran.printed)
        return ran

    def _shell(self, lines: str) -> Ran:
        bound = _PLACE.sub(rf"{self.folder}/\1", lines)
        done = subprocess.run(
            ["sh", "-ec", bound], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return Ran(done.returncode, done.stdout)

    def _seglake(self, arguments: list[str]) -> Ran:
        bound = [_PLACE.sub(rf"{self.folder}/\1", each) for each in arguments]
        printed = io.BytesIO()
        text = io.TextIOWrapper(printed, "utf-8", write_through=True)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(text):
            return Ran(main(bound), printed.getvalue().decode())


def steps() -> Iterator[str]:
    """The page's commands and queries but those for a running cluster, in its order.

    Shell lines between them are one step.
    """
    for block, inline in _STEP.findall(PAGE.read_text("utf-8")):
        lines = (block or inline).splitlines()
        for is_shell, group in groupby(lines, lambda line: not line.startswith(_COMMANDS)):
            found = [line for line in group if not line.startswith(_OF_A_CLUSTER)]
            yield from ["\n".join(found)] if is_shell else found


pytestmark = pytest.mark.xdist_group("rescue page")

_DAMAGED = corrupt_case("flip_payload__v2-zstd")
_CLUSTERS = {
    "06_transactions": DeadCluster(
        first=(log_dir("06_transactions", "live"),),
        later=(log_dir("06_transactions", "stopped"),),
        topic="tx-a",
    ),
    "08_replicas": DeadCluster(
        first=(log_dir("08_replicas", "diverged"), log_dir("08_replicas", "diverged", "broker2")),
        later=(log_dir("08_replicas", "diverged", "broker1"),),
        topic="rep",
    ),
    "11_kraft": DeadCluster(
        first=(log_dir("11_kraft", "stopped"),),
        later=(log_dir("11_kraft", "stopped"),),
        topic="kr-cmp",
    ),
    "05_compacted": DeadCluster(
        first=(log_dir("05_compacted", "after"),),
        later=(log_dir("05_compacted", "before"),),
        topic="cmp-v2",
    ),
    "damaged": DeadCluster(
        first=(_DAMAGED.log_dir,),
        later=(log_dir(_DAMAGED.source_scenario, _DAMAGED.source_copy),),
        topic=_DAMAGED.topic,
    ),
}
_INGEST = "seglake ingest --source /rescue --lake /data/lake --rescue --engine local"
_CAT = (
    "seglake cat --source /rescue --topics orders"
    " --isolation read_uncommitted --upper-bound log_end"
)


@pytest.fixture(scope="module")
def reader_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reader]:
    """Somebody who has followed the page with the disks of a cluster."""
    return cache(lambda name: Reader(tmp_path_factory.mktemp(name), _CLUSTERS[name]))


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("06_transactions", [f"3 {_INGEST} --dry-run", f"3 {_INGEST} --report report.html"]),
        ("08_replicas", []),
        ("11_kraft", []),
        ("05_compacted", []),
        ("damaged", [f"3 {_INGEST} --report report.html", f"3 {_CAT}"]),
    ],
)
def test_commands_say_that_a_person_should_look_where_something_is_not_there(
    reader_of: Callable[[str], Reader], name: str, looks: list[str]
) -> None:
    reader = reader_of(name)
    assert reader.looks() == looks
    assert (reader.folder / "report.html").stat().st_size


def test_undecided_transactions_are_named_and_their_records_taken(
    reader_of: Callable[[str], Reader],
) -> None:
    reader = reader_of("06_transactions")
    gaps = reader.answer(of="current_gaps")
    starts = {(gap["topic"], gap["partition"], gap["start_offset"]) for gap in gaps}
    assert starts == {("tx-a", 0, 102), ("tx-b", 0, 126)}  # as scenario.json has them
    assert {gap["cause"] for gap in gaps} == {"undecided"}
    (owner,) = (row for row in reader.answer(of="transaction_state") if row["state"] == "ongoing")
    assert owner["transactional_id"] == "hanging-app"
    for topic, first_offset in (("tx-a", 102), ("tx-b", 126)):
        dump = partition_dump("06_transactions", "live", topic, 0)
        expected = [
            batch.last_offset
            for batch in dump.batches
            if batch.producer_id == owner["producer_id"] and batch.last_offset >= first_offset
        ]
        found = reader.asked(
            f"SELECT max(offset) AS last_offset FROM records WHERE topic = '{topic}'"
            " AND transaction_state = 'open' GROUP BY batch_base_offset ORDER BY last_offset"
        )
        assert [row["last_offset"] for row in found] == expected


def test_report_counts_the_partitions_that_gave_records(
    reader_of: Callable[[str], Reader],
) -> None:
    for name, copy in (("06_transactions", "live"), ("11_kraft", "stopped")):
        logs = partitions(name, copy)
        with_records = [each for each in logs if each.record_count]
        metadata = 1 if name == "11_kraft" else 0  # no consumer reads KRaft's own log
        (said,) = (
            ran.printed
            for step, ran in reader_of(name).ran.items()
            if step.startswith("seglake report")
        )
        counts = f"{len(with_records) + metadata} of {len(logs) + metadata} partitions"
        assert f" records recovered from {counts}, " in said
        internal = sum(each.record_count for each in logs if each.topic.startswith("__"))
        found = re.search(r", (\d+) of them in Kafka's own topics", said)
        assert found is not None
        assert int(found[1]) >= internal > 0


def test_lag_is_the_way_from_a_groups_offset_to_the_end(
    reader_of: Callable[[str], Reader],
) -> None:
    """Offsets as Kafka's dump tool has them, ends as the broker had them."""
    rows = reader_of("06_transactions").answer(of="group_lag")
    ends = {(each.topic, each.partition): each for each in partitions("06_transactions", "live")}
    lags = {
        (row["topic"], row["partition"]): row["lag"] for row in rows if row["group_id"] == "group-1"
    }
    committed = {("tx-a", 0): 38, ("tx-a", 1): 30, ("tx-a", 2): 11, ("tx-b", 0): 7}
    assert lags == {
        place: ends[place].high_watermark - offset for place, offset in committed.items()
    }


def test_what_only_losing_replicas_have_is_in_quarantine(
    reader_of: Callable[[str], Reader],
) -> None:
    reader = reader_of("08_replicas")
    found: dict[int, int] = {}
    for row in reader.answer(of="quarantine"):
        assert row["defect_code"] == "replica_conflict"
        found[row["partition"]] = max(found.get(row["partition"], 0), row["next_offset"])
    ends = partitions("08_replicas", "follower_down")  # where the losers' logs ended
    assert found == {each.partition: each.high_watermark for each in ends}
    rows = reader.asked(
        "SELECT partition, offset FROM current_salvaged_records ORDER BY partition, offset"
    )
    lost = "SELECT partition, offset FROM salvaged_records WHERE defect_code = 'replica_conflict'"
    everything = [(row["partition"], row["offset"]) for row in reader.asked(f"{lost} ORDER BY ALL")]
    firsts: dict[int, int] = {}
    for row in reader.answer(of="quarantine"):
        firsts[row["partition"]] = min(firsts.get(row["partition"], 1 << 62), row["from_offset"])
    assert everything == [
        (each.partition, offset)
        for each in ends
        if each.partition in firsts
        for offset in range(firsts[each.partition], each.high_watermark)
    ]
    won = {each.partition: each.high_watermark for each in partitions("08_replicas", "diverged")}
    assert [(row["partition"], row["offset"]) for row in rows] == [
        (each.partition, offset)
        for each in ends
        for offset in range(won[each.partition], each.high_watermark)
    ]


def test_configs_and_leaders_are_those_of_the_cluster(reader_of: Callable[[str], Reader]) -> None:
    reader = reader_of("11_kraft")
    configs = {
        (row["name"], row["value"])
        for row in reader.answer(of="topic_configs")
        if row["topic"] == "kr-cmp"
    }
    assert configs == {
        ("cleanup.policy", "compact"),
        ("internal.segment.bytes", "6000"),
        ("min.cleanable.dirty.ratio", "0.001"),
    }
    leaders = {
        (row["topic"], row["partition"]): row["last_leader"]
        for row in reader.answer(of="partition_leaders")
    }
    logs = {(each.topic, each.partition) for each in partitions("11_kraft", "stopped")}
    assert leaders == dict.fromkeys(logs, 1)


@pytest.mark.parametrize(("name", "copy"), [("11_kraft", "stopped"), ("05_compacted", "after")])
def test_latest_value_of_a_key_is_that_of_its_newest_record(
    reader_of: Callable[[str], Reader], name: str, copy: str
) -> None:
    newest = {
        record.key: record
        for record in expected_records(name, copy, _CLUSTERS[name].topic, 0)
        if record.key is not None
    }
    expected = sorted(each.offset for each in newest.values() if each.value is not None)
    rows = reader_of(name).answer(of="latest_records")
    assert [row["offset"] for row in rows] == expected


def test_older_copy_gives_back_what_the_cleaner_removed(
    reader_of: Callable[[str], Reader],
) -> None:
    reader = reader_of("05_compacted")
    for each in partitions("05_compacted", "before"):
        copies = (_committed("05_compacted", copy, each.topic, 0) for copy in ("before", "after"))
        found = reader.asked(f"SELECT offset FROM records WHERE topic = '{each.topic}'")
        more = {row["offset"] for row in found} - set().union(*copies)
        assert {row["offset"] for row in found} >= set().union(*copies), each.topic
        folder = reader.folder / "rescue" / "disk0" / f"{each.topic}-0"
        assert not more or [*folder.glob("*.log.deleted")], each.topic  # later than the first copy


def test_damage_is_named_and_filled_from_another_copy(reader_of: Callable[[str], Reader]) -> None:
    reader = reader_of("damaged")
    gaps = reader.answer(of="current_gaps")
    assert [range(gap["start_offset"], gap["next_offset"]) for gap in gaps] == [
        *_DAMAGED.lost_offsets
    ]
    (damage,) = reader.answer(of="quarantine")
    assert range(damage["from_offset"], damage["next_offset"]) == _DAMAGED.lost_offsets[0]
    assert reader.asked("SELECT * FROM current_gaps") == []


@pytest.mark.parametrize("name", list(_CLUSTERS))
def test_duckdb_has_the_lake_from_the_script(reader_of: Callable[[str], Reader], name: str) -> None:
    reader = reader_of(name)
    (expected,) = reader.asked("SELECT count(*) AS records FROM current_records")
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute((reader.folder / "lake.sql").read_text())
        found = connection.execute("SELECT count(*) FROM current_records").fetchone()
    assert found == (expected["records"],)


def _committed(scenario: str, copy: str, topic: str, partition: int) -> list[int]:
    records = expected_records(scenario, copy, topic, partition, Isolation.READ_COMMITTED)
    return [record.offset for record in records]

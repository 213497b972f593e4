"""Runs of `latest` among ingests, repairs, elections, erasures and retention, in random orders.

After each run of `latest` that ended, and at the end of each schedule, the table has the rows that
the views say.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from seglake.errors import SeglakeError
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import audited
from support.dying import Died, dying
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
)
from support.erasures import erased
from support.lakes import ingested, maintained, replayed, retaken
from support.latest_state import assert_current, updated
from support.made_logs import TOPIC_IDS, write_over
from support.people import DAY_MS, FIRST_MS
from torture.drawn_runs import drawn_runs
from torture.rows import Row

_MOST_STEPS = 6
_KILLS = ("redo", "records", "gaps", "checkpoints", "erasures", "files")
_LATEST_KILLS = ("table", "rows", "files", "latest/orders")
_KEYS = (b"ann", b"bob", b"eve", b"zoe")
_BOUND = {"upper_bound": "log_end"}
_Batch = Callable[[int], EncodedBatch]


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Schedules, calm ones and then killed ones."""
    return drawn_runs("latest_state", tried, seconds=seconds, seed=seed)


def tried(folder: Path, chance: random.Random, kills: bool) -> tuple[list[str], str]:
    """Run a schedule; return its steps and what is wrong, empty if nothing."""
    lake = _Lake(folder, chance)
    steps: list[str] = []
    try:
        lake.ingest("")
        for name in lake.schedule():
            kill = chance.choice(_LATEST_KILLS if name == "latest" else _KILLS)
            kill = kill if kills and chance.random() < 0.4 else ""
            steps.append(f"{name}!{kill}" if kill else name)
            steps[-1] += lake.run(name, kill)
        lake.end()
    except AssertionError as error:
        return steps, str(error).splitlines()[0] if str(error) else repr(error)
    except BaseException:
        print(f"latest_state: {steps}", flush=True)
        raise
    return steps, ""


def _time_ms(offset: int) -> int:
    return FIRST_MS + offset * DAY_MS


class _Lake:
    """A lake, and the disk of a broker that it is ingested from."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.disk, self.lake = folder / "disk", folder / "lake"
        self._chance = chance
        self._log: list[tuple[int, _Batch]] = []
        self._epoch = 0
        self._names = ["orders", "orders again"]
        self._erased: set[bytes] = set()
        self._is_whole = True  # whether no run has died since the last ingest

    def schedule(self) -> Iterator[str]:
        """Yield the names of the steps: most others are followed by `latest`."""
        yield "latest"
        for _ in range(self._chance.randint(2, _MOST_STEPS)):
            yield self._chance.choice([*_RUNS])
            if self._chance.random() < 0.7:
                yield "latest"

    def run(self, name: str, kill: str) -> str:
        """Run a step; return how it ended, if not as usual."""
        try:
            _RUNS[name](self, kill)
        except Died:
            self._is_whole &= name.startswith("latest")
            return " died"
        except SeglakeError as error:
            if name.startswith("latest"):
                raise
            return f" refused: {type(error).__name__}"
        return ""

    def ingest(self, kill: str) -> None:
        """Ingest more of the log."""
        self._grow()
        self._ingest(kill)

    def ingest_damaged(self, kill: str) -> None:
        """Ingest more of the log, of which a value is damaged."""
        first = len(self._log)
        self._grow()
        self._write()
        path = self.disk / "orders-0" / f"{0:020d}.log"
        content = bytearray(path.read_bytes())
        sizes = [len(batch(offset).data) for offset, (_, batch) in enumerate(self._log)]
        chosen = self._chance.randrange(first, len(self._log))
        content[sum(sizes[:chosen]) + 62] ^= 1
        path.write_bytes(content)
        self._ingest(kill, writes=False)

    def elect(self, kill: str) -> None:
        """Ingest a log whose last batches lost an election."""
        lost = self._chance.randint(1, 3)
        self._log = self._log[:-lost]
        self._epoch += 1
        self.ingest(kill)

    def create_again(self, kill: str) -> None:
        """Ingest the log of a topic that was deleted and created again."""
        if len(self._names) > 1:
            self._names.pop(0)
            self._log, self._epoch = [], 0
        self.ingest(kill)

    def replay(self, kill: str) -> None:
        """Fill gaps from the whole log."""
        self._write()
        replayed(self.lake, self.disk, after=dying(kill))

    def retake(self, kill: str) -> None:
        """Ingest again what lost an election, or everything."""
        self._write()
        is_whole = self._chance.random() < 0.5
        selection = Selection(is_whole=True) if is_whole else Selection()
        topics = {"topics": ["orders"]}
        retaken(self.lake, self.disk, selection=selection, after=dying(kill), select=topics)

    def erase(self, kill: str) -> None:
        """Erase one of two keys."""
        key = self._chance.choice(_KEYS[:2])
        self._erased.add(key)
        erased(self.lake, key=key.decode(), after=dying(kill))

    def maintain(self, kill: str) -> None:
        """Merge the files of all tables."""
        maintained(self.lake)

    def expire(self, kill: str) -> None:
        """Maintain the lake, and remove the older records of each log."""
        young = self._chance.randrange(len(self._log))
        days = (time.time_ns() // 1_000_000 - _time_ms(young)) // DAY_MS + 1
        maintained(self.lake, retention={"records": f"{days}d"}, after=dying(kill))

    def latest(self, kill: str, *, rebuild: bool = False) -> None:
        """Bring the table up to date; it has the rows of the views."""
        done = updated(self.lake, "orders", after=dying(kill), rebuild=rebuild)
        assert done.exit_code == 0, done.to_text()
        if self._is_whole:
            assert_current(self.lake, "orders")

    def end(self) -> None:
        """Complete what has died; the table is that of the views, and of a rebuild."""
        self._is_whole = True
        self._ingest("")
        for key in sorted(self._erased):
            erased(self.lake, key=key.decode())
        self.latest("")
        assert not audited(self.lake).findings.of(FindingKind.LATEST_ROWS)
        self.latest("", rebuild=True)

    def _ingest(self, kill: str, *, writes: bool = True) -> None:
        if writes:
            self._write()
        ingested(self.disk, self.lake, after=dying(kill), read=_BOUND)
        self._is_whole = True

    def _grow(self) -> None:
        for _ in range(self._chance.randint(2, 8)):
            self._log.append((self._epoch, self._batch()))

    def _batch(self) -> _Batch:
        epoch, producer = self._epoch, self._chance.choice((7, 8))
        kind = self._chance.choice(("value", "value", "value", "tombstone", "data", "data", "end"))
        # A key that only one record has: if that goes, nothing supports its row.
        own = b"only %d" % self._chance.randrange(1 << 30)
        key = self._chance.choice((*_KEYS, own, own, None))
        if kind == "end":
            control = self._chance.choice((ControlType.COMMIT, ControlType.ABORT))
            return lambda offset: end_marker(
                offset,
                control,
                producer_id=producer,
                timestamp_ms=_time_ms(offset),
                leader_epoch=epoch,
            )
        header = Header(leader_epoch=epoch)
        if kind == "data":
            given = Producer(producer, 0, 0)
            header = Header(leader_epoch=epoch, producer=given, is_transactional=True)

        def batch(offset: int) -> EncodedBatch:
            value = None if kind == "tombstone" else b"%d of %d" % (offset, epoch)
            return record_batch(offset, [Record(key, value, _time_ms(offset))], header)

        return batch

    def _write(self) -> None:
        batches = [batch(offset) for offset, (_, batch) in enumerate(self._log)]
        epochs: dict[int, int] = {}
        for offset, (epoch, _) in enumerate(self._log):
            epochs.setdefault(epoch, offset)
        log = Partition(
            "orders",
            0,
            [Segment(0, batches)],
            topic_id=TOPIC_IDS[self._names[0]],
            leader_epochs=tuple(epochs.items()),
        )
        write_over(self.disk, [log])


_RUNS: dict[str, Callable[[_Lake, str], None]] = {
    "ingest": _Lake.ingest,
    "ingest_damaged": _Lake.ingest_damaged,
    "elect": _Lake.elect,
    "create_again": _Lake.create_again,
    "replay": _Lake.replay,
    "retake": _Lake.retake,
    "erase": _Lake.erase,
    "maintain": _Lake.maintain,
    "expire": _Lake.expire,
    "latest": _Lake.latest,
    "latest_rebuilt": lambda lake, kill: lake.latest(kill, rebuild=True),
}

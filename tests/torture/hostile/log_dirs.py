"""A log dir of which one file holds hostile bytes: its number, then what it holds."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from seglake.errors import SeglakeError
from seglake.log_dirs.discovery import discover
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from support.encoder import (
    Aborted,
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    ProducerEntry,
    Record,
    Segment,
    end_marker,
    message,
    producer_snapshot,
    record_batch,
    transaction_index,
    wrapper,
    write_log_dir,
)
from support.offset_flips import Answer, answer_of
from torture.hostile.numbers import lie, packed
from torture.hostile.payloads import wounded
from torture.hostile.side_files import DRAWN

_HINTS = (".index", ".timeindex", "leader-epoch-checkpoint", "partition.metadata")
_OWN = {
    ".index": 0,
    ".timeindex": 1,
    ".txnindex": 2,
    ".snapshot": 3,
    "-offset-checkpoint": 4,
    "leader-epoch-checkpoint": 5,
    "partition.metadata": 6,
    "meta.properties": 7,
}


def draw(random: Random) -> bytes:
    """Another content for one of the files: as it was but for wounds, or one of its kind."""
    paths = _files(_sound())
    number = random.randrange(len(paths))
    content = paths[number].read_bytes()
    own = [kind for end, kind in _OWN.items() if paths[number].name.endswith(end)]
    if own and random.random() < 0.6:
        content = DRAWN[own[0]](random, random.choice((0.0, 0.1)))
    else:
        for _ in range(random.choice((1, 1, 2, 3))):
            content = _struck(random, content)
    return bytes([number]) + content


def check(content: bytes) -> int:
    """Read the log dir: no row that is not there, and each that is, where only hints lie."""
    folder, truth = _copy(), _truth()
    path = _files(folder)[content[0]]
    sound = path.read_bytes()
    path.write_bytes(content[1:])
    try:
        found = _read(folder)
    except SeglakeError:
        return 1  # refused, with a reason that is documented
    finally:
        path.write_bytes(sound)
    for name, answer in found.items():
        rows, right = answer.records, truth[name].records
        assert not answer.twice, f"{path.name}: {name} has offsets twice"
        strange = {offset for offset, row in rows.items() if right.get(offset) != row}
        assert not strange or answer.hole_count, f"{path.name}: {name} has rows not its own"
        if path.name.endswith(_HINTS):
            assert rows == right, f"{path.name}: {name} has {len(rows)} of {len(right)} rows"
    if path.name.endswith(_HINTS):
        assert found.keys() == truth.keys()
    return 1


def _struck(random: Random, content: bytes) -> bytes:
    if random.random() < 0.5 or len(content) < 20:
        return wounded(random, content)
    place, size = random.randrange(len(content) - 8), random.choice((1, 2, 4, 8))
    number = packed(lie(random, 0, 8 * size), size)
    return content[:place] + number + content[place + size :]


def _read(folder: Path) -> dict[str, Answer]:
    settings = Settings.from_mappings([("test", {"read": {"isolation": "read_committed"}})])
    storage = LocalStorage()
    found = discover([str(folder)], storage)
    return {
        f"{replica.key.topic}-{replica.key.partition}": answer_of(replica, settings, storage)
        for replica in found.replicas
    }


@cache
def _truth() -> dict[str, Answer]:
    return _read(_sound())


@cache
def _sound() -> Path:
    folder = _folder()
    partitions = [
        Partition("orders", 0, [Segment(start, _batches(start)) for start in (0, 20, 40)]),
        Partition("old", 0, [Segment(start, _messages(start)) for start in (0, 20)]),
    ]
    (orders, _) = write_log_dir(folder / "data", partitions)
    (orders.folder / f"{20:020}.txnindex").write_bytes(transaction_index([Aborted(7, 24, 32, 33)]))
    snapshot = producer_snapshot([ProducerEntry(7, 0, 3, 51, 3, 9, 0, -1)])
    (orders.folder / f"{40:020}.snapshot").write_bytes(snapshot)
    return folder / "data"


@cache
def _copy() -> Path:
    return Path(shutil.copytree(_sound(), _folder() / "data"))


def _folder() -> Path:
    """One that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _batches(start: int) -> list[EncodedBatch]:
    """Twenty offsets: plain, transactional, a marker; of every second segment, an abort."""
    open_data = Header(producer=Producer(7, 0, 0), is_transactional=True)
    kind = ControlType.ABORT if start == 20 else ControlType.COMMIT
    return [
        record_batch(start, _records(start, 4)),
        record_batch(start + 4, _records(start + 4, 8), open_data, codec=Codec.GZIP),
        end_marker(start + 12, kind, producer_id=7),
        record_batch(start + 13, _records(start + 13, 3), codec=Codec.LZ4),
        record_batch(start + 16, _records(start + 16, 4)),
    ]


def _messages(start: int) -> list[EncodedBatch]:
    plain = [message(start + n, record, 1) for n, record in enumerate(_records(start, 8))]
    return [*plain, wrapper(start + 8, _records(start + 8, 12), 1, Codec.SNAPPY)]


def _records(first: int, count: int) -> list[Record]:
    return [
        Record(b"k%d" % n, b"value %d" % n, 1_700_000_000_000 + n)
        for n in range(first, first + count)
    ]

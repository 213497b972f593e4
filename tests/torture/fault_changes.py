"""Disks that change while a run reads them, and what of the logs a lake may lack then."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from support.encoder import delete_segment
from support.lake_accounts import incomplete, records_of, rows_of, unpublished
from support.made_logs import make_log_dir
from support.named_points import Point, held
from support.three_logs import EDGES, VALUE_BYTES
from torture.fault_scenes import Rows, Scene

_GROWN = {**EDGES, ("orders", 0): [0, 40, 80, 150], ("payments", 0): [0, 30, 100]}
_ROLLED = {**EDGES, ("orders", 0): [0, 40, 80, 120, 150], ("orders", 1): [0, 25, 50, 60]}
_PAYMENTS = "payments-0"
_LAST_BATCH = 85

MayLack = Callable[[str, int, int], bool]
"""Whether a record with this topic, partition and offset may be missing."""


def changed(scene: Scene, point: Point, change: str) -> list[str]:
    """Change the disk while a run is at a point, run once more, and say what is wrong then."""
    folder = scene.copied("cycle")
    change_disk, may_lack = CHANGES[change]
    with held(scene.argv(folder)) as run:
        run.reach(point)
        change_disk(folder / "disk")
        code = run.finish()
        wrong = [] if code in (0, 3) else [f"it ended with {code}: {run.text()}"]
    if may_lack is None:
        return wrong + scene.wrong(folder, whole=_of_disk(scene, folder))
    return wrong + _wrong_or_lost(scene, folder, may_lack)


def _of_disk(scene: Scene, folder: Path) -> Rows:
    """What a run leaves that finds the disk as it is now."""
    now = scene.copied("now")
    shutil.rmtree(now / "disk")
    shutil.copytree(folder / "disk", now / "disk")
    code = scene.run(now)
    scene.run(now)
    return Rows(rows_of(now / "lake"), code, [])


def _wrong_or_lost(scene: Scene, folder: Path, may_lack: MayLack) -> list[str]:
    """The rows must be the log's, each once; what is lost must have gone from the disk."""
    lake = folder / "lake"
    wrong = incomplete(lake)
    again = scene.run(folder)
    if again not in (0, 3):
        wrong.append(f"the next run ended with {again}")
    wrong += [*incomplete(lake), *unpublished(lake)]
    expected, found = scene.clean_records, records_of(lake)
    if len(found) != len({*found}):
        wrong.append("a record comes twice")
    wrong += [f"no such record: {row[:3]}" for row in {*found} - {*expected}]
    lost = sorted(row[:3] for row in {*expected} - {*found} if not may_lack(*row[:3]))
    return wrong + [f"lost: {row}" for row in lost]


def _become(edges: Mapping[tuple[str, int], list[int]], disk: Path) -> None:
    """Bytes are appended where they are now, and new files come."""
    other = make_log_dir(disk.parent / "other", edges, value_bytes=VALUE_BYTES)
    for path in sorted(other.rglob("*")):
        here = disk / path.relative_to(other)
        if path.is_dir():
            here.mkdir(exist_ok=True)
        elif path.suffix == ".log" and here.exists():
            with here.open("ab") as file:  # what is there may be damaged, and stays
                file.write(path.read_bytes()[here.stat().st_size :])
        else:
            here.write_bytes(path.read_bytes())
    shutil.rmtree(other)


def _grow(disk: Path) -> None:
    _become(_GROWN, disk)


def _roll(disk: Path) -> None:
    _become(_ROLLED, disk)


def _delete_oldest(disk: Path) -> None:
    delete_segment(disk / _PAYMENTS, 0)


def _tear(disk: Path) -> None:
    """The last batch is torn, as behind a crash."""
    log = max((disk / _PAYMENTS).glob("*.log"))
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 100)


def _delete_partition(disk: Path) -> None:
    shutil.rmtree(disk / _PAYMENTS)


CHANGES: Mapping[str, tuple[Callable[[Path], None], MayLack | None]] = {
    "grown": (_grow, None),
    "rolled": (_roll, None),
    "oldest segment deleted": (_delete_oldest, lambda topic, _, n: topic == "payments" and n < 30),
    "last batch torn": (_tear, lambda topic, _, n: topic == "payments" and n >= _LAST_BATCH),
    "partition deleted": (_delete_partition, lambda topic, *_: topic == "payments"),
}

"""Hostile files beside the segments: one byte that says which file it is, then its bytes."""

import struct
from collections.abc import Callable
from itertools import pairwise
from random import Random

import crc32c

from seglake.segment_codec.formats.side_files import (
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from seglake.segment_codec.formats.side_files.checkpoint_files import (
    INT_MAX,
    LONG_MAX,
    CheckpointFileError,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from support import encoder
from support.encoder import (
    Aborted,
    OffsetEntry,
    ProducerEntry,
    TimeEntry,
    checkpoint_text,
    meta_properties,
)
from support.encoder import (
    producer_snapshot as written_snapshot,
)
from torture.hostile.numbers import lie
from torture.hostile.payloads import wounded

_BASE = 1000
_SNAPSHOT_BODY = 6


def draw(random: Random) -> bytes:
    """One file of any kind, with lies in its entries, wounds in its bytes, or both."""
    kind = random.randrange(len(_KINDS))
    content = _KINDS[kind][0](random, random.choice((0.0, 0.02, 0.2)))
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        content = wounded(random, content)
    if kind == _SNAPSHOT and len(content) > _SNAPSHOT_BODY and random.random() < 0.7:
        crc = crc32c.crc32c(content[_SNAPSHOT_BODY:])
        content = content[:2] + struct.pack(">I", crc) + content[_SNAPSHOT_BODY:]
    return bytes([kind]) + content


def check(content: bytes) -> int:
    """Read one; what it says is within the bounds that its reader promises."""
    _KINDS[content[0]][1](content[1:])
    return 1


def _numbers(random: Random, share: float, count: int, steps: tuple[int, ...]) -> list[list[int]]:
    """Rows of numbers that rise by these steps, but for those that lie."""
    rows = []
    for n in range(count):
        row = [step * n for step in steps]
        rows.append([lie(random, x, 64) if random.random() < share else x for x in row])
    return rows


def _index(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(12), (7, 400))
    entries = [OffsetEntry(_BASE + _int32(a), _int32(b)) for a, b in rows]
    return encoder.offset_index(_BASE, entries, zero_entries=random.randrange(3))


def _check_index(content: bytes) -> None:
    found = offset_index.parse(content, _BASE)
    entries = [OffsetEntry(*entry) for entry in found.entries]
    again = encoder.offset_index(_BASE, entries)
    assert content.startswith(again)
    assert found.damage is not None or not content[len(again) :].strip(b"\0")
    for before, after in pairwise(entries):
        assert before.offset < after.offset
        assert before.position < after.position
    for offset in (0, _BASE, _BASE + 9, LONG_MAX):
        known = next(found.lookups(offset), None)
        assert known is None or known.offset <= offset


def _times(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(12), (1000, 7))
    entries = [TimeEntry(a, _BASE + _int32(b)) for a, b in rows]
    return encoder.time_index(_BASE, entries, zero_entries=random.randrange(3))


def _check_times(content: bytes) -> None:
    found = time_index.parse(content, _BASE)
    again = encoder.time_index(_BASE, [TimeEntry(*entry) for entry in found.entries])
    assert content.startswith(again)
    assert found.damage is not None or not content[len(again) :].strip(b"\0")
    assert list(found.entries) == sorted(found.entries)


def _aborted(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(6), (1, 10, 10, 10))
    return encoder.transaction_index([Aborted(p, a, b + 5, c + 1) for p, a, b, c in _fit(rows)])


def _check_aborted(content: bytes) -> None:
    found = transaction_index.parse(content)
    again = encoder.transaction_index([Aborted(*entry[1:]) for entry in found.entries])
    assert content.startswith(again)
    assert (found.damage is None) == (content == again)
    markers = [entry.last_offset for entry in found.entries]
    assert markers == sorted(set(markers))


def _snapshot(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(5), (1, 1, 1, 1, 1, 1, 1, 1))
    bits = (64, 16, 32, 64, 32, 64, 32, 64)
    fitted = [[_signed(x, size) for x, size in zip(row, bits, strict=True)] for row in rows]
    content = written_snapshot([ProducerEntry(*row) for row in fitted])
    if random.random() < share:
        count = struct.pack(">i", _int32(lie(random, len(rows), 32)))
        content = content[:_SNAPSHOT_BODY] + count + content[_SNAPSHOT_BODY + 4 :]
    return content


def _check_snapshot(content: bytes) -> None:
    found = producer_snapshot.parse(content)
    assert (found.damage is None) == (
        len(content) == producer_snapshot.HEADER.size + 46 * len(found.entries)
        and found.crc_is_valid
        and found.version == producer_snapshot.VERSION
        and len(found.entries) == struct.unpack_from(">i", content, _SNAPSHOT_BODY)[0]
    )
    assert found.damage is None or not found.entries
    for entry in found.entries:
        first = entry.current_txn_first_offset
        assert first is None or first >= 0


def _words(random: Random, share: float, words: tuple[str, ...]) -> str:
    odd = ("", " ", "-1", "+1", "0x7", "1e3", "\uff11", "9" * 21, str(1 << 63), "\0", "..", "a b")
    return " ".join(random.choice(odd) if random.random() < share else word for word in words)


def _lines(random: Random, share: float, lines: list[str]) -> bytes:
    text = checkpoint_text(lines, random.choice((0, 1, -1)) if random.random() < share else 0)
    if random.random() < share:
        text = text.replace(f"\n{len(lines)}\n", f"\n{lie(random, len(lines), 64)}\n", 1)
    return text.encode()


def _offsets(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(6), (1, 1, 100))
    topics = ("orders", "x.y_z-1", "t" * 255, "__consumer_offsets")
    lines = [_words(random, share, (random.choice(topics), str(b), str(c))) for _, b, c in rows]
    return _lines(random, share, lines)


def _check_offsets(content: bytes) -> None:
    try:
        found = parse_offset_checkpoint(content)
    except CheckpointFileError:
        return
    for (topic, partition), offset in found.items():
        assert 1 <= len(topic) <= 255
        assert 0 <= partition <= INT_MAX
        assert 0 <= offset <= LONG_MAX
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in found.items()]
    assert parse_offset_checkpoint(checkpoint_text(lines).encode()) == found
    assert len(found) == max(len(content.splitlines()) - 2, 0)


def _epochs(random: Random, share: float) -> bytes:
    rows = _numbers(random, share, random.randrange(6), (1, 100))
    return _lines(random, share, [_words(random, share, (str(a), str(b))) for a, b in rows])


def _check_epochs(content: bytes) -> None:
    try:
        found = parse_leader_epochs(content)
    except CheckpointFileError:
        return
    epochs = [entry.epoch for entry in found]
    starts = [entry.start_offset for entry in found]
    assert epochs == sorted(set(epochs))
    assert starts == sorted(starts)
    assert all(0 <= epoch <= INT_MAX for epoch in epochs)
    assert all(0 <= start <= LONG_MAX for start in starts)


def _metadata(random: Random, share: float) -> bytes:
    topic_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    first, second = _words(random, share, ("0",)), _words(random, share, (topic_id,))
    return f"version: {first}\ntopic_id: {second}".encode()


def _check_metadata(content: bytes) -> None:
    try:
        found = parse_partition_metadata(content)
    except CheckpointFileError:
        return
    assert len(found.topic_id) == 22
    assert 0 <= found.version <= INT_MAX


def _properties(random: Random, share: float) -> bytes:
    text = meta_properties(random.randrange(9), _words(random, share, ("c2VnbGFrZS10ZXN0cy4xMg",)))
    odd = ("\\u12", "\\uD83D\\uDE00", "\\uD83D", "\\\n  ", "\\", "=", ":", "!x\n", "\x85", "é")
    for _ in range(random.randrange(4) if share else 0):
        place = random.randrange(len(text))
        text = text[:place] + random.choice(odd) + text[place:]
    return text.encode()


def _check_properties(content: bytes) -> None:
    try:
        found = parse_meta_properties(content)
    except CheckpointFileError:
        return
    for text in (found.cluster_id, found.directory_id):
        assert text is None or text.encode().decode().strip() == text
    for number in (found.version, found.broker_id):
        assert number is None or 0 <= number <= INT_MAX


def _fit(rows: list[list[int]]) -> list[list[int]]:
    return [[_signed(x, 62) for x in row] for row in rows]


def _int32(number: int) -> int:
    return _signed(number, 32)


def _signed(number: int, bits: int) -> int:
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


_KINDS: tuple[tuple[Callable[[Random, float], bytes], Callable[[bytes], None]], ...] = (
    (_index, _check_index),
    (_times, _check_times),
    (_aborted, _check_aborted),
    (_snapshot, _check_snapshot),
    (_offsets, _check_offsets),
    (_epochs, _check_epochs),
    (_metadata, _check_metadata),
    (_properties, _check_properties),
)
_SNAPSHOT = 3
DRAWN = tuple(draw_one for draw_one, _ in _KINDS)

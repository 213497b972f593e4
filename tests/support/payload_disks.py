"""Disks whose payloads can be found again: in any file, written in any of the usual forms."""

import base64
import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    message,
    payload_batch,
    record_batch,
    with_right_checksum,
    write_log_dir,
)
from support.encoder.internal import (
    array,
    compact,
    config_value,
    int8,
    int16,
    int32,
    int64,
    long_bytes,
    metadata_value,
    offset_key,
    offset_value,
    string,
    tagged,
    uvarint,
)
from support.faults import bad_crc

# Their first bytes already tell: what is shown cut short is found, too.
PAYLOADS = {
    "key": b"Kq7ZkeyCanary",
    "value": b"Vw3XvalueCanary",
    "header": b"Hb9YheaderCanary",
    "header name": b"Nm5WnameCanary",
    "metadata": b"Md2QmetadataCanary",
    "config": b"Cf8RconfigCanary",
    "subscription": b"Sb2GsubscriptionCanary",
    "custom metadata": b"Cm7FcustomCanary",
}

# What Kafka and its clients call people, programs and machines: no payload, but not for everybody.
NAMES = {
    "group": b"Gr1PgroupCanary",
    "member": b"Mb5RmemberCanary",
    "client": b"Cl4DclientCanary",
    "host": b"Ho6ShostCanary",
    "transactional id": b"Tx9LtransactCanary",
    "user": b"Us3NuserCanary",
}
_SUBJECTS = ("typed-value", "people-value", "people-key")


def forms(hidden: bytes) -> set[bytes]:
    """Return the forms in which bytes may be written: raw, hex, base64 from any offset, numbers."""
    core = hidden[:9]
    found = {core, core.hex().encode(), core.hex().upper().encode(), core.hex(" ").encode()}
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + core)
        found.add(text[-(-8 * shift // 6) : 8 * (shift + len(core)) // 6])
    return found | {", ".join(map(str, core)).encode(), core.decode().encode("utf-16-le")}


def found_in(content: bytes, hidden: Mapping[str, bytes]) -> list[str]:
    """Return the names of the payloads that are in the content, in any form."""
    return [name for name, each in hidden.items() if any(form in content for form in forms(each))]


def _record(number: int) -> Record:
    """A record full of what must not be seen; each second one is no text."""
    binary = b"\xfe\x00" * (number % 2)
    headers = ((PAYLOADS["header name"].decode(), binary + PAYLOADS["header"] + b"!"),)
    key, value = (binary + PAYLOADS[name] + b"%d" % number for name in ("key", "value"))
    return Record(key, value, 1_700_000_000_000 + number, headers)


def _plain(offset: int, codec: Codec = Codec.NONE) -> EncodedBatch:
    return record_batch(offset, [_record(offset), _record(offset + 1)], codec=codec)


def _broken(offset: int, codec: Codec = Codec.NONE) -> EncodedBatch:
    """A batch with a right checksum over what is no record, or no output of the codec."""
    payload = b"".join(PAYLOADS.values()) * 3
    header = Header(last_offset_delta=1, record_count=2)
    return payload_batch(offset, payload, header, codec=codec)


def _lying(offset: int) -> EncodedBatch:
    """A length inside a record that leads out of it."""
    batch = _plain(offset)
    data = bytearray(batch.data)
    place = data.index(PAYLOADS["value"][:4]) - 1
    data[place] = 0x7E
    return batch._replace(data=with_right_checksum(bytes(data)))


def _bad_header_name(offset: int) -> EncodedBatch:
    name = b"\xff" + PAYLOADS["header name"]
    return record_batch(offset, [_record(offset)._replace(headers=((name, b"x"),)), _record(1)])


def _schema(subject: str, schema_id: int) -> Record:
    """A record of the registry that gives a subject the schema of a text."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1}
    schema = {"id": schema_id, "schema": '"string"', "deleted": False}
    value = {"subject": subject, "version": 1, **schema}
    return Record(json.dumps(key).encode(), json.dumps(value).encode())


def _rule() -> Record:
    """A record of the metadata log that lets a user, from a host, read a topic."""
    user, host = f"User:{NAMES['user'].decode()}", NAMES["host"].decode()
    rule = int8(2) + compact("orders") + int8(3) + compact(user) + compact(host)
    return Record(None, metadata_value(18, 0, bytes(16), rule, int8(3), int8(3), tagged()))


def _framed(schema_id: int, text: bytes) -> bytes:
    """A text with its schema's id, as producers with a registry write it."""
    return bytes([0, 0, 0, 0, schema_id, 2 * len(text)]) + text


def write_damaged_disks(folder: Path) -> None:
    """Two brokers: damage of every kind on one, and another record of the same leader on both."""
    batches = [_plain(0), bad_crc(_plain(2)), _lying(4), _bad_header_name(6), _plain(8)]
    batches += [_broken(10 + 2 * codec, codec) for codec in Codec]
    batches += [bad_crc(_plain(20, Codec.ZSTD)), _plain(22)]
    old = [message(n, _record(n)._replace(headers=()), 1) for n in range(4)]
    old[1] = bad_crc(old[1])
    groups = [offset_key("g", "orders", 0), b"\0\x63" + PAYLOADS["key"]]
    values = [
        offset_value(3, 1_700_000_000_000, PAYLOADS["metadata"].decode()),
        PAYLOADS["metadata"],
    ]
    secret = config_value(4, "1", "ssl.key.password", PAYLOADS["config"].decode())
    metadata = [Record(None, secret), Record(None, secret + PAYLOADS["config"]), _rule()]
    commits = [Record(key, value) for key, value in zip(groups, values, strict=True)]
    cut = Record(None, b"\0\0\0\0\1\xc8\x01" + PAYLOADS["value"])  # a string of 100 bytes
    broken = Record(PAYLOADS["key"], PAYLOADS["value"])
    others = {
        "old": old,
        "_schemas": [record_batch(0, [*map(_schema, _SUBJECTS, count(1)), broken])],
        "typed": [record_batch(0, [cut])],
        "__consumer_offsets": [record_batch(0, commits), bad_crc(record_batch(2, commits))],
        "__cluster_metadata": [record_batch(0, metadata), bad_crc(record_batch(2, metadata))],
    }
    partitions = [Partition(topic, 0, [Segment(0, log)]) for topic, log in others.items()]
    write_log_dir(folder / "0", [Partition("orders", 0, [Segment(0, batches)]), *partitions])
    again = [_plain(0), _plain(2), record_batch(4, [_record(8), _record(9)]), *batches[3:]]
    again[4] = record_batch(8, [_record(1), _record(2)])
    write_log_dir(folder / "1", [Partition("orders", 0, [Segment(0, again)])], broker_id=1)
    log = folder / "0" / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + _plain(24).data[:-9])


def write_people_disk(folder: Path) -> None:
    """A third broker, with texts of a registry's schemas, and records of all internal topics."""
    value, key = PAYLOADS["value"], PAYLOADS["key"]
    header = (PAYLOADS["header name"].decode(), PAYLOADS["header"])
    people = [
        Record(_framed(3, key), _framed(2, value), headers=(header,)),
        Record(b"\0\0\0\0\3\xc8\1" + key, _framed(2, value)),
        Record(_framed(3, key), b"\0\0\0\0\2\xc8\1" + value),
        Record(_framed(3, key), None),
    ]
    group, host, client, member = (
        NAMES[name].decode() for name in ("group", "host", "client", "member")
    )
    joined = string(member) + string(None) + string(client) + string(f"/{host}") + int32(300)
    joined += int32(45) + long_bytes(PAYLOADS["subscription"]) + long_bytes(b"")
    joined = (
        string("consumer") + int32(3) + string("range") + string(None) + int64(9) + array([joined])
    )
    groups = [
        Record(offset_key(group, "orders", 0), offset_value(3, 1_700_000_000_000)),
        Record(int16(2) + string(group), int16(3) + joined),
    ]
    transaction = int16(0) + int64(7) + int16(5) + int32(60000) + int8(0) + array([])
    transactions = [
        Record(
            int16(0) + string(NAMES["transactional id"].decode()),
            transaction + int64(11) + int64(10),
        ),
        Record(b"\0\x63" + key, value),
    ]
    partition = compact("orders") + bytes(16) + int32(0) + tagged()
    copied = uvarint(1) + uvarint(1) + uvarint(0) + partition + bytes(16) + tagged() + int32(4)
    copied += int64(99) + compact(PAYLOADS["custom metadata"]) + int8(1) + tagged()
    events = [Record(None, copied), Record(key, value)]
    topics = {
        ("people", 0): people,
        ("__consumer_offsets", 1): groups,
        ("__transaction_state", 0): transactions,
        ("__remote_log_metadata", 0): events,
    }
    logs = [
        Partition(topic, number, [Segment(0, [record_batch(0, records, codec=Codec.ZSTD)])])
        for (topic, number), records in topics.items()
    ]
    write_log_dir(folder, logs, broker_id=2)

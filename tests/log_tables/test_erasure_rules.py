"""Rules find the records that they are for, and no others; they have no payload."""

import hashlib
from pathlib import Path

import pyarrow as pa

from seglake.lake.rule_table import ERASURES
from seglake.log_tables.erasure_rules import (
    Place,
    TopicRules,
    create_erasures,
    hash_of_key,
    hash_of_record,
    rules_for,
    rules_of,
)
from seglake.pipelines.lake_erase.rule_rows import RuleStore
from support.lake_rows import new_lake

_SALT = b"salt"


def rows(*records: tuple[int, int, bytes | None, bytes | None]) -> pa.Table:
    """Rows of `records`: partition, offset, key and value."""
    partitions, offsets, keys, values = zip(*records, strict=True)
    return pa.table(
        {
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )


def of_key(*keys: bytes) -> TopicRules:
    hashes = frozenset(hashlib.sha256(_SALT + key).digest() for key in keys)
    return TopicRules({_SALT: hashes}, {})


def of_record(partition: int, offset: int, key: bytes | None, value: bytes | None) -> TopicRules:
    place = Place(partition, offset)
    found = hash_of_record(_SALT, place, key, value)
    return TopicRules({}, {place: {_SALT: frozenset({found})}})


def test_a_key_s_rule_matches_every_record_with_the_key() -> None:
    table = rows((0, 1, b"a", b"x"), (3, 1, b"b", None), (0, 2, None, b"a"), (0, 9, b"a", None))
    assert of_key(b"a").match(table).tolist() == [True, False, False, True]
    assert of_key(b"a", b"b").match(table).tolist() == [True, True, False, True]
    assert of_key(b"").match(table).tolist() == [False] * 4
    assert of_key(b"a").match(table.slice(0, 0)).tolist() == []


def test_keys_are_found_in_binary_views_as_decoding_makes_them() -> None:
    table = rows((0, 1, b"a key that is longer than twelve bytes", b"x"), (0, 2, None, b"y"))
    viewed = table.set_column(2, "key", table.column("key").cast(pa.binary_view()))
    assert of_key(b"a key that is longer than twelve bytes").match(viewed).tolist() == [True, False]


def test_an_empty_key_is_not_a_null_key() -> None:
    assert of_key(b"").match(rows((0, 1, b"", b"x"), (0, 2, None, b"x"))).tolist() == [True, False]


def test_a_record_s_rule_matches_its_place_key_and_value_only() -> None:
    rule = of_record(1, 7, b"k", b"v")
    others = [(1, 7, b"k", b"w"), (1, 7, b"l", b"v"), (1, 8, b"k", b"v"), (2, 7, b"k", b"v")]
    assert rule.match(rows((1, 7, b"k", b"v"), *others)).tolist() == [True, *[False] * 4]


def test_bytes_that_move_from_the_key_to_the_value_are_another_record() -> None:
    for key, value in ((b"k", b"kv"), (b"kkv", b""), (b"kkv", None), (None, b"kkv")):
        assert not of_record(0, 0, b"kk", b"v").match(rows((0, 0, key, value))).any()
    assert of_record(0, 0, None, None).match(rows((0, 0, None, None))).all()
    assert not of_record(0, 0, None, None).match(rows((0, 0, b"", None))).any()


def test_a_task_gets_the_rules_of_its_partitions() -> None:
    rules = {"a": of_record(1, 7, b"k", b"v"), "b": of_key(b"k")}
    assert rules_for(rules, [("a", 1), ("b", 0)]) == rules
    assert rules_for(rules, [("a", 0), ("c", 0)]) == {"a": TopicRules({}, {})}
    assert rules_for({}, [("a", 0)]) == {}


def test_hash_is_salted() -> None:
    assert hash_of_key(b"1", b"k") != hash_of_key(b"2", b"k")
    assert hash_of_key(b"1", b"k") == hashlib.sha256(b"1k").digest()


def test_rules_are_read_from_the_lake_that_stores_them(tmp_path: Path) -> None:
    tables = new_lake(tmp_path / "lake").tables
    assert rules_of(tables) == {}
    create_erasures(tables)
    store = RuleStore(tables, run_id="erasure", reason="", after=lambda _: None)
    store.add_key(["orders"], b"a")
    create_erasures(tables)  # the table is there and is left alone
    table = rows((0, 1, b"a", b"x"), (0, 2, b"b", b"x"))
    for found in (rules_of(tables), rules_of(tables, tables.open(ERASURES))):
        assert found.keys() == {"orders"}
        assert found["orders"].match(table).tolist() == [True, False]

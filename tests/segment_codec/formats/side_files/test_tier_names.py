"""Names of objects are read from the right, for a prefix may be anything."""

import pytest

from seglake.segment_codec.formats.side_files.tier_names import (
    ObjectKind,
    is_tier_object,
    local_file,
    local_folder,
    object_file,
    parse_tier_folder,
    partition_folder,
    topic_folder,
)

_BASE = f"{4711:020d}"
_ID = "BGL1s22hRCS3TSXe7CKMuw"
_ID_WITH_DASHES = "8PAkIb11-bOttx8Ea1oX-_"


@pytest.mark.parametrize("topic_id", [_ID, "-GL1s22hRCS3TSXe7CKMu-", "_GL1s22hR-S3TSXe7CKMu_"])
@pytest.mark.parametrize("prefixed", ["plain", "kp-plain", "a-b.c_d", "x-" + _ID])
def test_topic_and_its_id_are_cut_by_length(prefixed: str, topic_id: str) -> None:
    assert topic_folder(f"{prefixed}-{topic_id}") == (prefixed, topic_id)


@pytest.mark.parametrize("name", ["plain", _ID, f"-{_ID}", f"plain-{_ID}x+", "plain-0", ""])
def test_other_folders_are_not_of_a_topic(name: str) -> None:
    assert topic_folder(name) is None


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_objects_of_a_segment_name_each_other(kind: ObjectKind) -> None:
    found = object_file(f"{300:020d}-{_ID}.{kind}")
    assert found == (300, _ID, kind)
    assert found is not None
    assert found.sibling(ObjectKind.LOG) == f"{300:020d}-{_ID}.log"


@pytest.mark.parametrize(
    "name",
    [
        f"{300:019d}-{_ID}.log",
        f"{2**63:020d}-{_ID}.log",
        f"{300:020d}-{_ID[1:]}.log",
        f"{300:020d}-{_ID}.txt",
        f"{300:020d}-{_ID}.log.tmp",
        f"{300:020d}.log",
        f"{300:020d}{_ID}.log",
    ],
)
def test_other_files_are_no_objects(name: str) -> None:
    assert object_file(name) is None


def test_partitions_are_plain_numbers() -> None:
    names = ["0", "12", "012", "-1", "2147483648", "x", ""]
    assert list(map(partition_folder, names)) == [0, 12, None, None, None, None, None]


def test_objects_of_a_tier_have_an_offset_and_an_id() -> None:
    for name in ("log", "index", "leader_epoch_checkpoint", "indexes", "rsm-manifest"):
        assert is_tier_object(f"{_BASE}-{_ID}.{name}")
        assert is_tier_object(f"{_BASE}-{_ID_WITH_DASHES}.{name}")
    assert not is_tier_object(f"{_BASE}.log")
    assert not is_tier_object(f"{_BASE}-{_ID}.part")
    assert not is_tier_object(f"0_{_ID}.index")  # of the broker's cache


def test_the_folder_of_a_tier_says_whose_its_objects_are() -> None:
    assert parse_tier_folder("tier", f"ti-a-1-{_ID_WITH_DASHES}") == ("ti-a", 1)
    assert parse_tier_folder(f"ti-a-{_ID_WITH_DASHES}", "1") == ("ti-a", 1)
    assert parse_tier_folder("disk", "orders-0") is None
    assert parse_tier_folder("a", "b") is None


def test_a_local_tier_names_partition_and_topic_id_in_its_folder() -> None:
    assert local_folder(f"ti-a-1-{_ID_WITH_DASHES}") == ("ti-a", 1, _ID_WITH_DASHES)
    assert local_folder(f"ti-a-{_ID}") is None
    assert local_file(f"{_BASE}-{_ID_WITH_DASHES}.log") == (4711, _ID_WITH_DASHES, ".log")
    assert local_file(f"{_BASE}.log") is None

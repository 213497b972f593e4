"""Hadoop's properties: what is set, for all buckets or for one, and never shown."""

import pickle

from seglake.storage.hadoop_properties import HadoopProperties


def test_blanks_around_a_value_do_not_count_and_alone_are_no_value() -> None:
    found = HadoopProperties({"fs.a": " x y\n", "fs.b": " "})
    assert [found.get(name) for name in ("fs.a", "fs.b", "fs.c")] == ["x y", None, None]


def test_a_buckets_value_goes_before_that_of_all_unless_it_is_empty() -> None:
    found = HadoopProperties(
        {"fs.s3a.key": "all", "fs.s3a.bucket.b.key": "its own", "fs.s3a.bucket.c.key": " "}
    )
    assert [found.get_of_bucket(bucket, "key") for bucket in "bcd"] == ["its own", "all", "all"]


def test_values_travel_to_tasks_and_are_not_shown() -> None:
    found = HadoopProperties({"fs.s3a.secret.key": "hidden"})
    again = pickle.loads(pickle.dumps(found))
    assert (list(again), again.get("fs.s3a.secret.key")) == (["fs.s3a.secret.key"], "hidden")
    assert "hidden" not in repr(found)

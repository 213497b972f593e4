"""Where the properties of stores come from, and which one wins."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from seglake.environment.storages import find_properties
from support.hadoop_folders import hadoop_folder


def test_settings_win_over_spark_over_hadoop_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = tmp_path / "spark"
    spark.mkdir()
    (spark / "spark-defaults.conf").write_text("spark.hadoop.b 2\nspark.hadoop.c 2\n")
    environment: Mapping[str, str] = {
        **hadoop_folder(tmp_path / "hadoop", a="1", b="1", c="1"),
        "SPARK_CONF_DIR": str(spark),
        "AWS_REGION": "r",
        "HOME": str(tmp_path),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = find_properties((("spark.hadoop.c", "3"), ("spark.executor.memory", "1g")))
    assert [found.get(name) for name in ("a", "b", "c", "AWS_REGION")] == ["1", "2", "3", "r"]
    assert found.get("spark.executor.memory") is None
    assert "3" not in repr(found)

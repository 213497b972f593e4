"""JARs are kept when all are there and none was altered; no test here reaches out to a network."""

from pathlib import Path

import pytest

from seglake.environment.jar_fetch import AlteredJarError, Jar, NotFetchedError, fetched
from support.java_stand_ins import ivy_java

_DIGEST_OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
_WANTED = tuple(
    Jar("group", *name, _DIGEST_OF_X) for name in (("hadoop-aws", "3.5.0"), ("s3", "2"))
)


def test_an_altered_jar_is_not_used_and_no_other_is_kept(tmp_path: Path, spark_home: Path) -> None:
    write = 'printf x > "$to/hadoop-aws-3.5.0.jar"; printf y > "$to/s3-2.jar"'
    environment = ivy_java(tmp_path / "java", write)
    with pytest.raises(AlteredJarError, match="altered on its way"):
        fetched(_WANTED, "s3", environment, spark_home)
    assert list((tmp_path / "java" / "cache").rglob("*.jar")) == []


def test_ivy_that_leaves_a_jar_out_has_fetched_none(tmp_path: Path, spark_home: Path) -> None:
    environment = ivy_java(tmp_path / "java", 'printf x > "$to/s3-2.jar"')
    with pytest.raises(NotFetchedError):
        fetched(_WANTED, "s3", environment, spark_home)
    assert list((tmp_path / "java" / "cache").rglob("*.jar")) == []


def test_ivy_is_run_again_when_one_jar_is_gone(tmp_path: Path, spark_home: Path) -> None:
    write = 'for name in hadoop-aws-3.5.0 s3-2; do printf x > "$to/$name.jar"; done'
    environment = ivy_java(tmp_path / "java", write, f"echo ran >> {tmp_path}/runs")
    jars = fetched(_WANTED, "s3", environment, spark_home)
    jars[0].unlink()
    assert fetched(_WANTED, "s3", environment, spark_home) == jars
    assert jars[0].read_text() == "x"
    assert (tmp_path / "runs").read_text() == "ran\nran\n"

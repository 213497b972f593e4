"""Where the JARs for S3 come from; no test here reaches out to a network."""

from pathlib import Path

import pytest

from seglake.environment import s3_jars as module
from seglake.environment.errors import S3JarsError
from seglake.environment.jar_fetch import Jar, known_jars
from seglake.environment.s3_jars import s3_jars
from support.java_stand_ins import ivy_java

_DIGEST_OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.fixture(autouse=True)
def _wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two JARs are enough for a test."""
    names = (("hadoop-aws", "3.5.0"), ("s3", "2"))
    jars = tuple(Jar("group", *name, _DIGEST_OF_X) for name in names)
    monkeypatch.setattr(module, "known_jars", lambda: {"s3a": jars})


def test_every_jar_has_a_version_and_a_sum() -> None:
    jars = known_jars()["s3a"]
    assert len(jars) == 37
    assert all(len(jar.digest) == 64 and jar.version for jar in jars)
    assert len({jar.digest for jar in jars}) == 37


def test_what_is_fetched_is_kept_and_not_fetched_again(tmp_path: Path, spark_home: Path) -> None:
    write = 'for name in hadoop-aws-3.5.0 s3-2; do printf x > "$to/$name.jar"; done'
    environment = ivy_java(tmp_path / "java", write, f"echo ran >> {tmp_path}/runs")
    jars = s3_jars(environment, spark_home)
    assert [jar.name for jar in jars] == ["hadoop-aws-3.5.0.jar", "s3-2.jar"]
    assert all(jar.read_text() == "x" for jar in jars)
    assert s3_jars(environment, spark_home) == jars
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_without_a_network_it_says_what_to_do(tmp_path: Path, spark_home: Path) -> None:
    environment = ivy_java(tmp_path / "java", "exit 1")
    with pytest.raises(S3JarsError, match=r"could not be fetched.*SEGLAKE_JARS"):
        s3_jars(environment, spark_home)


def test_a_named_folder_must_have_them(tmp_path: Path, spark_home: Path) -> None:
    environment = {"SEGLAKE_JARS": str(tmp_path)}
    with pytest.raises(S3JarsError, match=r"no hadoop-aws-3\.5\.0\.jar is there"):
        s3_jars(environment, spark_home)
    (tmp_path / "hadoop-aws-3.5.0.jar").touch()
    assert s3_jars(environment, spark_home) == []


def test_jars_beside_sparks_own_need_no_more(spark_home: Path) -> None:
    (spark_home / "jars" / "hadoop-aws-3.5.0.jar").touch()
    assert s3_jars({}, spark_home) == []


def test_another_hadoop_is_named_with_what_to_do(spark_home: Path) -> None:
    (spark_home / "jars" / "hadoop-client-api-3.3.4.jar").touch()
    with pytest.raises(S3JarsError, match=r"Hadoop 3\.3\.4.*duckdb.*hadoop-aws:3\.3\.4$"):
        s3_jars({"JAVA_HOME": "/nowhere"}, spark_home)

"""Where Delta's JARs come from; no test here reaches out to a network."""

import os
from pathlib import Path

import pytest

from seglake.environment.delta_jars import delta_jars, main
from seglake.environment.errors import DeltaJarsError
from seglake.environment.java_home import provide_java
from seglake.environment.trust_store import trust_store, write_trust_store

NAMES = ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")


def make_ivy(home: Path, content: str) -> dict[str, str]:
    """An environment whose Java, asked to run Ivy, writes `content` where Ivy would put the JAR."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        "while [ $# -gt 0 ]; do\n"
        "  case $1 in -retrieve) to=$2;; -dependency) name=$3-$4;; esac; shift\n"
        "done\n"
        f'printf "{content}" > "$(dirname "$to")/$name.jar"\n',
        "utf-8",
    )
    java.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "ivy-1.jar").touch()
    return home


def test_named_folder_is_taken_as_it_is(tmp_path: Path, spark_home: Path) -> None:
    for name in (*NAMES, "more.jar"):
        (tmp_path / name).touch()
    jars = delta_jars({"SEGLAKE_JARS": str(tmp_path)}, spark_home)
    assert [jar.name for jar in jars] == [*NAMES, "more.jar"]


def test_called_by_name_it_prints_a_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES:
        (tmp_path / name).touch()
    monkeypatch.setenv("SEGLAKE_JARS", str(tmp_path))
    assert main() == 0
    assert capsys.readouterr().out == f"{tmp_path / NAMES[0]}:{tmp_path / NAMES[1]}\n"


def test_named_folder_without_delta_is_refused(tmp_path: Path, spark_home: Path) -> None:
    (tmp_path / NAMES[0]).touch()
    with pytest.raises(DeltaJarsError, match=r"no delta-storage-4\.4\.0\.jar is there"):
        delta_jars({"SEGLAKE_JARS": str(tmp_path)}, spark_home)


def test_jars_beside_spark_s_own_need_no_more(spark_home: Path) -> None:
    (spark_home / "jars" / NAMES[0]).touch()
    assert delta_jars({}, spark_home) == []


def test_jars_of_the_cache_are_not_fetched_again(tmp_path: Path, spark_home: Path) -> None:
    folder = tmp_path / "seglake" / "delta-4.4.0"
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).touch()
    jars = delta_jars({"XDG_CACHE_HOME": str(tmp_path), "JAVA_HOME": "/nowhere"}, spark_home)
    assert jars == [folder / name for name in NAMES]


def test_altered_jar_is_not_used(tmp_path: Path, spark_home: Path) -> None:
    environment = make_ivy(tmp_path / "java", "altered")
    with pytest.raises(DeltaJarsError, match="altered on its way"):
        delta_jars(environment, spark_home)
    assert list((tmp_path / "java" / "cache").rglob("*.jar")) == []


def test_jar_that_is_as_expected_is_kept(
    tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of "x"
    monkeypatch.setattr("seglake.environment.delta_jars._SHA256", {"delta-storage": digest})
    environment = make_ivy(tmp_path / "java", "x")
    jars = delta_jars(environment, spark_home)
    assert [jar.read_text("utf-8") for jar in jars] == ["x"]
    assert [entry.name for entry in jars[0].parent.iterdir()] == [NAMES[1]]


def test_no_network_is_explained(tmp_path: Path, spark_home: Path) -> None:
    environment = {"JAVA_HOME": "/nowhere", "XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(DeltaJarsError, match=r"could not be fetched.*SEGLAKE_JARS"):
        delta_jars(environment, spark_home)


def test_trust_store_has_java_s_layout() -> None:
    content = trust_store([b"DER"])
    assert content[:-20] == (
        b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1"
        b"\0\0\0\2\0\1" + b"0" + b"\0" * 8 + b"\0\5X.509" + b"\0\0\0\3DER"
    )


@pytest.mark.spark
def test_java_reads_the_trust_store(tmp_path: Path) -> None:
    """Java's own keytool lists what was written, and accepts the digest."""
    import subprocess

    path = tmp_path / "trusted.jks"
    if not write_trust_store(path):
        pytest.fail("this machine trusts no certificate at all")
    environment = dict(os.environ)
    java = provide_java(environment)
    command = [str(java), "-m", "java.base/sun.security.tools.keytool.Main", "-list"]
    options = ["-keystore", str(path), "-storetype", "jks", "-storepass", "changeit"]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert "trustedCertEntry" in answer.stdout

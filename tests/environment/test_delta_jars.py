"""Where Delta's JARs come from; no test here reaches out to a network."""

from pathlib import Path

import pytest

from seglake.environment.delta_jars import delta_jars, delta_package, main
from seglake.environment.errors import DeltaJarsError
from seglake.environment.jar_fetch import AlteredJarError, Jar
from support.java_stand_ins import ivy_java

NAMES = ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")


def make_ivy(home: Path, content: str) -> dict[str, str]:
    """An environment whose Java, run for Ivy, writes `content` where Ivy would put the JARs."""
    write = f'for name in {" ".join(NAMES)}; do printf {content} > "$to/$name"; done'
    return ivy_java(home, write)


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
    with pytest.raises(DeltaJarsError, match=r"has no delta-storage-4\.4\.0\.jar"):
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


@pytest.mark.parametrize(
    ("core", "names"),
    [
        ("2.12-3.5.9", ("delta-spark_2.12-3.3.3.jar", "delta-storage-3.3.3.jar")),
        ("2.12-3.5.1-amzn-0", ("delta-spark_2.12-3.3.3.jar", "delta-storage-3.3.3.jar")),
        ("2.13-3.5.9", ("delta-spark_2.13-3.3.3.jar", "delta-storage-3.3.3.jar")),
        ("2.13-4.0.5", ("delta-spark_4.0_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")),
        ("2.13-4.1.4", ("delta-spark_4.1_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")),
        ("2.13-4.2.1", NAMES),
    ],
)
def test_each_spark_gets_the_delta_made_for_it(
    tmp_path: Path, spark_home: Path, core: str, names: tuple[str, str]
) -> None:
    (spark_home / "jars" / f"spark-core_{core}.jar").touch()
    folder = tmp_path / "seglake" / f"delta-{names[1].removeprefix('delta-storage-')[:5]}"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    jars = delta_jars({"XDG_CACHE_HOME": str(tmp_path), "JAVA_HOME": "/nowhere"}, spark_home)
    assert jars == [folder / name for name in names]
    release = delta_package(spark_home).split(":")
    assert f"{release[1]}-{release[2]}.jar" == names[0]


def test_a_spark_without_a_delta_is_named_and_takes_one_that_it_is_given(
    tmp_path: Path, spark_home: Path
) -> None:
    (spark_home / "jars" / "spark-core_2.13-9.1.0.jar").touch()
    said = r"no Delta for Spark 9\.1\.0 \(Scala 2\.13\), .*--engine duckdb.*SEGLAKE_JARS"
    with pytest.raises(DeltaJarsError, match=said):
        delta_jars({"JAVA_HOME": "/nowhere"}, spark_home)
    given = tmp_path / "given"
    given.mkdir()
    with pytest.raises(DeltaJarsError, match=r"has no delta-spark_\*\.jar"):
        delta_jars({"SEGLAKE_JARS": str(given)}, spark_home)
    (given / "delta-spark_9.1_2.13-9.0.0.jar").touch()
    assert delta_jars({"SEGLAKE_JARS": str(given)}, spark_home) == [*given.iterdir()]


def test_altered_jar_is_not_used(tmp_path: Path, spark_home: Path) -> None:
    environment = make_ivy(tmp_path / "java", "altered")
    with pytest.raises(AlteredJarError, match="altered on its way"):
        delta_jars(environment, spark_home)
    assert list((tmp_path / "java" / "cache").rglob("*.jar")) == []


def test_jar_that_is_as_expected_is_kept(
    tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of "x"
    wanted = Jar("io.delta", "delta-storage", "4.4.0", digest)
    monkeypatch.setattr("seglake.environment.delta_jars.jars_of", lambda *release: (wanted,))
    environment = make_ivy(tmp_path / "java", "x")
    jars = delta_jars(environment, spark_home)
    assert [jar.read_text("utf-8") for jar in jars] == ["x"]
    assert [entry.name for entry in jars[0].parent.iterdir()] == [NAMES[1]]


def test_no_network_is_explained(tmp_path: Path, spark_home: Path) -> None:
    environment = {"JAVA_HOME": "/nowhere", "XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(DeltaJarsError, match=r"could not be fetched.*SEGLAKE_JARS"):
        delta_jars(environment, spark_home)

"""JARs are kept if all are there and none was altered; no test here reaches out to a network."""

import shutil
from pathlib import Path

import pytest

from seglake.environment import spark_jars
from seglake.environment.errors import JarsError
from seglake.environment.spark_jars import DELTA, S3, Jar, JarSet, find_jars, main

_DIGEST_OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
_DELTA_NAMES = ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")
_WANTED = JarSet("made-1", "a test", ("hadoop-aws-",))


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that has the two JARs of `_WANTED`, each with the content x."""
    pins = tmp_path / "pins.toml"
    lines = (f'"org.made:{jar}" = "{_DIGEST_OF_X}"' for jar in ("hadoop-aws:3.5.0", "s3:2"))
    pins.write_text("\n".join(["[made-1]", *lines]), "utf-8")
    folder = tmp_path / "maven"
    for jar in ("hadoop-aws/3.5.0/hadoop-aws-3.5.0.jar", "s3/2/s3-2.jar"):
        path = folder / "org" / "made" / jar
        path.parent.mkdir(parents=True)
        path.write_text("x", "utf-8")
    monkeypatch.setattr(spark_jars, "_PINS", pins)
    monkeypatch.setattr(spark_jars, "_MAVEN", folder.as_uri())
    return folder


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """The folder of a Spark that has no JAR."""
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return tmp_path / "spark"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def _kept(cache: dict[str, str]) -> list[str]:
    return sorted(path.name for path in Path(cache["XDG_CACHE_HOME"]).rglob("*.jar"))


@pytest.mark.parametrize(("wanted", "count"), [(DELTA, 2), (S3, 37)])
def test_every_jar_has_a_version_and_a_sum_of_its_own(wanted: JarSet, count: int) -> None:
    jars = wanted.jars()
    assert all(len(jar.digest) == 64 and jar.version for jar in jars)
    assert len({jar.digest for jar in jars}) == len(jars) == count
    for start in wanted.required:
        assert any(jar.name.startswith(start) for jar in jars)


def test_a_jar_lies_where_maven_has_it() -> None:
    jar = Jar("io.delta", "delta-storage", "4.4.0", "")
    assert jar.path == "io/delta/delta-storage/4.4.0/delta-storage-4.4.0.jar"


def test_named_folder_is_taken_as_it_is(tmp_path: Path, spark_home: Path) -> None:
    for name in (*_DELTA_NAMES, "more.jar"):
        (tmp_path / name).touch()
    jars = find_jars(DELTA, {"SEGLAKE_JARS": str(tmp_path)}, spark_home)
    assert [jar.name for jar in jars] == [*_DELTA_NAMES, "more.jar"]


@pytest.mark.parametrize(
    ("wanted", "lacking"), [(DELTA, r"delta-storage-\*\.jar"), (S3, r"hadoop-aws-\*\.jar")]
)
def test_named_folder_that_lacks_a_jar_is_refused(
    wanted: JarSet, lacking: str, tmp_path: Path, spark_home: Path
) -> None:
    (tmp_path / _DELTA_NAMES[0]).touch()
    with pytest.raises(JarsError, match=f"no {lacking} is there"):
        find_jars(wanted, {"SEGLAKE_JARS": str(tmp_path)}, spark_home)


def test_called_by_name_it_prints_each_jar_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted([*_DELTA_NAMES, "hadoop-aws-3.5.0.jar"])
    for name in names:
        (tmp_path / name).touch()
    monkeypatch.setenv("SEGLAKE_JARS", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["spark_jars", "delta", "s3"])
    assert main() == 0
    assert capsys.readouterr().out == ",".join(str(tmp_path / name) for name in names) + "\n"


@pytest.mark.parametrize(
    ("wanted", "name"), [(DELTA, _DELTA_NAMES[0]), (S3, "hadoop-aws-3.5.0.jar")]
)
def test_jars_beside_spark_s_own_need_no_more(wanted: JarSet, name: str, spark_home: Path) -> None:
    (spark_home / "jars" / name).touch()
    assert find_jars(wanted, {}, spark_home) == []


def test_jar_that_is_as_expected_is_kept(
    maven: Path, spark_home: Path, cache: dict[str, str]
) -> None:
    jars = find_jars(_WANTED, cache, spark_home)
    assert [jar.read_text("utf-8") for jar in jars] == ["x", "x"]
    assert _kept(cache) == ["hadoop-aws-3.5.0.jar", "s3-2.jar"]
    shutil.rmtree(maven)
    assert find_jars(_WANTED, cache, spark_home) == jars


def test_jars_are_fetched_again_if_one_is_gone(
    maven: Path, spark_home: Path, cache: dict[str, str]
) -> None:
    jars = find_jars(_WANTED, cache, spark_home)
    jars[0].unlink()
    assert find_jars(_WANTED, cache, spark_home) == jars
    assert jars[0].read_text("utf-8") == "x"


def test_an_altered_jar_is_not_used_and_no_other_is_kept(
    maven: Path, spark_home: Path, cache: dict[str, str]
) -> None:
    next(maven.rglob("s3-2.jar")).write_text("y", "utf-8")
    with pytest.raises(JarsError, match=r"s3-2\.jar .* altered on its way"):
        find_jars(_WANTED, cache, spark_home)
    assert _kept(cache) == []


def test_no_network_is_explained(maven: Path, spark_home: Path, cache: dict[str, str]) -> None:
    next(maven.rglob("s3-2.jar")).unlink()
    with pytest.raises(JarsError, match=r"s3-2\.jar, which could not be fetched.*SEGLAKE_JARS"):
        find_jars(_WANTED, cache, spark_home)
    assert _kept(cache) == []

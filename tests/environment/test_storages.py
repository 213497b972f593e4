"""Where the properties of stores come from, and which one wins."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from seglake.environment.aws_environment import aws_variables
from seglake.environment.hadoop_files import site_properties, spark_defaults
from seglake.environment.storages import find_properties
from seglake.errors import WrongCallError


def hadoop_folder(folder: Path, name: str = "core-site.xml", **properties: str) -> dict[str, str]:
    """A folder of Hadoop's, as the variable that names it."""
    entries = "".join(
        f"<property>\n<name> {key.replace('__', '.')} </name>\n<value>{value}</value></property>"
        for key, value in properties.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"<?xml version='1.0'?><configuration>{entries}</configuration>")
    return {"HADOOP_CONF_DIR": str(folder)}


def test_hadoops_files_are_read_the_later_one_first(tmp_path: Path) -> None:
    hadoop_folder(tmp_path, "core-site.xml", fs__a="core", fs__b="core")
    environment = hadoop_folder(tmp_path, "hdfs-site.xml", fs__b="hdfs")
    assert site_properties(environment) == {"fs.a": "core", "fs.b": "hdfs"}


def test_references_are_put_in(tmp_path: Path) -> None:
    environment = hadoop_folder(
        tmp_path,
        a="${env.SECRET}",
        b="${a}!",
        c="${env.NONE:-else}",
        d="${nobody.knows}",
        e="${e}",
    )
    found = site_properties({**environment, "SECRET": "s3"})
    assert found == {"a": "s3", "b": "s3!", "c": "else", "d": "${nobody.knows}", "e": "${e}"}


def test_without_files_there_are_no_properties(tmp_path: Path) -> None:
    assert site_properties({}) == {}
    assert site_properties({"HADOOP_CONF_DIR": str(tmp_path)}) == {}
    assert spark_defaults({"SPARK_CONF_DIR": str(tmp_path)}) == {}


def test_a_file_that_is_no_xml_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration><value>secret</value>")
    with pytest.raises(WrongCallError, match=r"core-site\.xml is not XML") as caught:
        site_properties({"HADOOP_CONF_DIR": str(tmp_path)})
    assert "secret" not in str(caught.value)


def test_sparks_defaults_are_read_in_all_their_forms(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "# spark.hadoop.no 0\n"
        "spark.hadoop.a   1\n"
        "  spark.hadoop.b=http://h:1/x=y  \n"
        "spark.hadoop.c : 3 4\n"
        "spark.other 5\n"
        "spark.hadoop.d\n"
    )
    expected = {"a": "1", "b": "http://h:1/x=y", "c": "3 4"}
    assert spark_defaults({"SPARK_HOME": str(tmp_path)}) == expected
    assert spark_defaults({"SPARK_CONF_DIR": str(tmp_path / "conf")}) == expected


def profiles(home: Path, **files: str) -> dict[str, str]:
    (home / ".aws").mkdir()
    for name, text in files.items():
        (home / ".aws" / name).write_text(text)
    return {"HOME": str(home)}


def test_a_profile_of_aws_serves_where_no_variable_does(tmp_path: Path) -> None:
    environment = profiles(
        tmp_path,
        credentials="[default]\naws_access_key_id=A\naws_secret_access_key=S%%\n"
        "[two]\naws_access_key_id=B\naws_secret_access_key=T\naws_session_token=U\n",
        config="[default]\nregion = r1\n[profile two]\nregion = r2\noutput = json\n",
    )
    assert aws_variables(environment) == {
        "AWS_ACCESS_KEY_ID": "A",
        "AWS_SECRET_ACCESS_KEY": "S%%",
        "AWS_DEFAULT_REGION": "r1",
    }
    assert aws_variables({**environment, "AWS_PROFILE": "two"}) == {
        "AWS_ACCESS_KEY_ID": "B",
        "AWS_SECRET_ACCESS_KEY": "T",
        "AWS_SESSION_TOKEN": "U",
        "AWS_DEFAULT_REGION": "r2",
    }
    variables = {"AWS_ACCESS_KEY_ID": "C", "AWS_SECRET_ACCESS_KEY": "V", "AWS_REGION": "r3"}
    assert aws_variables({**environment, **variables}) == {**variables, "AWS_DEFAULT_REGION": "r1"}
    variables = {**variables, "AWS_DEFAULT_REGION": "r4"}
    assert aws_variables({**environment, **variables}) == variables
    assert aws_variables({**environment, "AWS_PROFILE": "three"}) == {}


def test_a_profiles_key_is_not_mixed_with_a_token_of_the_environment(tmp_path: Path) -> None:
    environment = profiles(
        tmp_path, credentials="[default]\naws_access_key_id=A\naws_secret_access_key=S\n"
    )
    assert aws_variables({**environment, "AWS_SESSION_TOKEN": "of another key"}) == {
        "AWS_ACCESS_KEY_ID": "A",
        "AWS_SECRET_ACCESS_KEY": "S",
    }


def test_a_profile_file_that_is_none_is_named_and_not_shown(tmp_path: Path) -> None:
    environment = profiles(tmp_path, credentials="aws_secret_access_key = secret\n")
    with pytest.raises(WrongCallError, match="cannot read the profiles") as caught:
        aws_variables(environment)
    assert "secret_access_key" not in str(caught.value)


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

"""Hadoop's properties in the files of Hadoop and of Spark."""

from pathlib import Path

import pytest

from seglake.environment.hadoop_files import (
    USERS_CONF_FOLDER,
    site_properties,
    spark_conf_folder,
    spark_defaults,
)
from seglake.errors import WrongCallError
from support.hadoop_folders import hadoop_folder


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


def test_sparks_defaults_are_the_users_when_another_spark_has_begun_to_run(tmp_path: Path) -> None:
    own, users = tmp_path / "pip", tmp_path / "users"
    for home, value in ((own, "ours"), (users, "theirs")):
        (home / "conf").mkdir(parents=True)
        (home / "conf" / "spark-defaults.conf").write_text(f"spark.hadoop.a {value}\n")
    before = {"SPARK_HOME": str(users)}
    folder = spark_conf_folder(before)
    assert folder == str(users / "conf")
    behind = {"SPARK_HOME": str(own), USERS_CONF_FOLDER: folder}
    assert spark_defaults(before) == spark_defaults(behind) == {"a": "theirs"}

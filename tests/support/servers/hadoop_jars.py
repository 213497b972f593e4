"""The JARs of a small Hadoop."""

from pathlib import Path

import pytest

from support.servers.maven_jars import NoJarsError, maven_jars

_VERSION = "3.5.0"


def hadoop_jars() -> Path:
    """The folder that has the name node, the data node and their tools, 104 MB; skips without."""
    artifact = f"org.apache.hadoop:hadoop-client-minicluster:{_VERSION}"
    try:
        return maven_jars(f"hadoop-{_VERSION}", [artifact])
    except NoJarsError as error:
        pytest.skip(f"HDFS needs Hadoop's JARs, and {error}")

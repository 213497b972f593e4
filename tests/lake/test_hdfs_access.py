"""Where HDFS paths lead, and what a person reads where a ticket is missing; no server is needed."""

import pytest

from lake.errors import RefusedError
from lake.hadoop_properties import HadoopProperties
from lake.hdfs_access import access_of
from lake.hdfs_errors import failure

_VIEW = "fs.viewfs.mounttable.view."


@pytest.mark.parametrize(
    "text",
    [
        'RuntimeError: GSSAPIError("No Kerberos credentials available")',
        "NoSASLMechanism",
        "Failed to libgssapi_krb5.",
    ],
)
def test_missing_ticket_is_told(text: str) -> None:
    error = failure("list", "hdfs://prod/x", text, "hdfs://prod")
    assert type(error) is RefusedError
    said = error.reason
    assert "hdfs://prod wants Kerberos" in said
    assert "kinit" in said


@pytest.mark.parametrize(
    ("path", "server"),
    [
        ("hdfs://h:9000/a", "hdfs://h:9000"),
        ("viewfs://view/a/b/c", "hdfs://deep"),
        ("viewfs://view/a/bc", "hdfs://one:8020"),
        ("viewfs://view/other", "hdfs://rest:9000"),
        ("viewfs://strange/a", "viewfs://strange"),
    ],
)
def test_name_node_behind_a_path_is_that_of_its_longest_link(path: str, server: str) -> None:
    known = {
        f"{_VIEW}link./a": "hdfs://one/x",
        f"{_VIEW}link./a/b": "hdfs://deep/y",
        f"{_VIEW}linkFallback": "hdfs://rest:9000/",
        "dfs.ha.namenodes.deep": "a,b",
    }
    assert access_of(path, HadoopProperties(known)).server == server

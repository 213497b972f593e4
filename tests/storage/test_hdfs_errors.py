"""What a person reads where HDFS refuses or says nothing; no server is needed."""

import pytest

from seglake.storage.errors import RefusedError, StorageError, StoreSilentError
from seglake.storage.hdfs_errors import failure


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
    assert "hdfs://prod requires Kerberos" in said
    assert "kinit" in said


@pytest.mark.parametrize(
    ("action", "kind"),
    [("list", StoreSilentError), ("read", StorageError), ("write", StorageError)],
)
def test_silence_while_blocks_are_moved_may_be_that_of_one_data_node(
    action: str, kind: type[Exception]
) -> None:
    assert type(failure(action, "hdfs://h:1/x", "Connection refused", "hdfs://h:1")) is kind

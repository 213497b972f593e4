"""What a person reads where a store refuses; the texts are those that obstore gave for servers."""

import pytest

from seglake.storage.errors import PlaceError, RefusedError, StorageError, StoreSilentError
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.s3_access import access_of
from seglake.storage.s3_errors import failure

_ACCESS = access_of(HadoopProperties({"fs.s3a.endpoint": "http://h:1"}), "b")
_ANSWER = "Generic S3 error: Error performing GET http://h:1/b in 1ms - Server returned non-2xx"


def answer(status: int, code: str = "") -> str:
    body = f"<Error><Code>{code}</Code><AWSAccessKeyId>AKIA1</AWSAccessKeyId></Error>"
    return f"{_ANSWER} status code: {status} Nope: {body if code else ''}\n\nDebug source:\nX {{}}"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        (answer(404, "NoSuchBucket"), RefusedError, "there is no bucket b at http://h:1"),
        (answer(403, "SignatureDoesNotMatch"), RefusedError, "refuses the secret key"),
        (answer(403, "InvalidAccessKeyId"), RefusedError, "the access key is unknown"),
        (answer(400, "ExpiredToken"), RefusedError, "refuses the session token"),
        (answer(403, "AccessDenied"), RefusedError, "denies the access (AccessDenied, HTTP 403)"),
        (
            "Generic S3 error: DeleteObjects request failed for key x: No. (code: AccessDenied)",
            RefusedError,
            "http://h:1 denies the access (AccessDenied): the key lacks a permission on bucket b",
        ),
        (answer(403), RefusedError, "denies the access (HTTP 403)"),
        (answer(301, "PermanentRedirect"), RefusedError, "the bucket b is not in us-east-1"),
        (answer(404), RefusedError, "does not answer as an S3 store (HTTP 404)"),
        (answer(503, "SlowDown"), StorageError, "is busy (HTTP 503)"),
        (
            answer(501, "NotImplemented"),
            StorageError,
            "http://h:1 refuses it (NotImplemented, HTTP 501)",
        ),
        (
            "HTTP error: error sending request Debug: kind: Connect, x",
            StoreSilentError,
            "cannot be reached",
        ),
        ("... message: Connection refused", StoreSilentError, "nothing listens at http://h:1"),
        ('ConnectError("dns error", x)', StoreSilentError, "the host of http://h:1 is unknown"),
        (
            "HTTP error: error sending request Debug: kind: Connect, error: InvalidCertificate(X)",
            RefusedError,
            "the certificate of http://h:1 is not trusted",
        ),
        ("GET /certificates kind: Timeout", StoreSilentError, "does not answer in time"),
        ("... kind: Timeout, ...", StoreSilentError, "does not answer in time"),
        *(
            (f"Error GET http://169.254.1.2/{said}", StorageError, "no credentials were found")
            for said in ("latest/api/token", "x - status code: 404 No", "x: kind: Timeout")
        ),
        (
            "Generic S3 error: Missing AccessKeyId",
            RefusedError,
            "only one of access key and secret key",
        ),
        ("something else\nentirely\n\nDebug source:\nX", StorageError, "something else entirely"),
    ],
)
def test_reasons_name_what_to_look_at(text: str, kind: type[PlaceError], reason: str) -> None:
    error = failure("list", "s3://b/x", text, _ACCESS)
    assert type(error) is kind
    found = error.reason
    assert reason in found
    assert "\n" not in found
    assert "AKIA1" not in found


@pytest.mark.parametrize(
    "text",
    [
        "Operation not supported: an error occurred while loading credentials: failed to load IMDS"
        " session token: service error: request forbidden: IMDS is disabled",
        "the credential provider was not enabled: no providers in chain provided credentials",
    ],
)
def test_lake_without_credentials_names_the_variables_as_a_source_does(text: str) -> None:
    """delta-rs looks for credentials by itself, and says it otherwise."""
    found = failure("look for the table", "s3://b/lake", text, _ACCESS)
    assert type(found) is StorageError
    assert str(found) == (
        "cannot look for the table s3://b/lake: no credentials were found: set fs.s3a.access.key"
        " and fs.s3a.secret.key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )

"""What a person reads where a store refuses; the texts are those that obstore gave for servers."""

import pytest

from lake.hadoop_properties import HadoopProperties
from lake.s3_access import access_of
from lake.s3_errors import reason_of

_ACCESS = access_of(HadoopProperties({"fs.s3a.endpoint": "http://h:1"}), "b")
_ANSWER = "Generic S3 error: Error performing GET http://h:1/b in 1ms - Server returned non-2xx"


def answer(status: int, code: str = "") -> str:
    body = f"<Error><Code>{code}</Code><AWSAccessKeyId>AKIA1</AWSAccessKeyId></Error>"
    return f"{_ANSWER} status code: {status} Nope: {body if code else ''}\n\nDebug source:\nX {{}}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (answer(404, "NoSuchBucket"), "there is no bucket b at http://h:1"),
        (answer(403, "SignatureDoesNotMatch"), "refuses the secret key"),
        (answer(403, "InvalidAccessKeyId"), "does not know the access key"),
        (answer(400, "ExpiredToken"), "refuses the session token"),
        (answer(403, "AccessDenied"), "does not permit it (AccessDenied, HTTP 403)"),
        (answer(403), "does not permit it (HTTP 403)"),
        (answer(301, "PermanentRedirect"), "the bucket b is not in us-east-1"),
        (answer(404), "does not answer as an S3 store (HTTP 404)"),
        (answer(503, "SlowDown"), "is busy (HTTP 503)"),
        (answer(501, "NotImplemented"), "http://h:1 refuses it (NotImplemented, HTTP 501)"),
        ("HTTP error: error sending request Debug: kind: Connect, x", "cannot be reached"),
        ("... message: Connection refused", "nothing listens at http://h:1"),
        ('ConnectError("dns error", x)', "the host of http://h:1 is not known"),
        ("... kind: Timeout, ...", "does not answer in time"),
        ("Error GET http://169.254.169.254/latest/api/token", "no credentials were found"),
        ("Generic S3 error: Missing AccessKeyId", "only one of access key and secret key"),
        ("something else\nentirely\n\nDebug source:\nX", "something else entirely"),
    ],
)
def test_reasons_name_what_to_look_at(text: str, reason: str) -> None:
    found = reason_of(text, _ACCESS)
    assert reason in found
    assert "\n" not in found
    assert "AKIA1" not in found

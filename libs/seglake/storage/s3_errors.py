"""Turns errors of the object store library into seglake's errors, with short reasons.

obstore and delta-rs share the library that makes these texts. A text has the request's URL and the
store's answer: an XML document with a code, or only the status for a HEAD request. The answer may
contain an access key, so only its code is used.
"""

import re

from seglake.storage.errors import PlaceError, RefusedError, StorageError, StoreSilentError
from seglake.storage.s3_access import S3Access

_CODE = re.compile(r"(?:<Code>|\(code: )([A-Za-z0-9_.-]{1,64})(?:</Code>|\))")
_STATUS = re.compile(r"status code: ([0-9]{3})")
_NO_PATH = re.compile(r'object with invalid path: (?:Error parsing )?Path "((?:[^"\\]|\\.)*)"')
_URL_AND_AFTER = re.compile(r" +(at|performing [A-Z]+) https?://\S+.*", re.DOTALL)

_SILENT = (
    "Connection refused",
    "dns error",
    "imed out",
    "TimedOut",
    "kind: Timeout",
    "kind: Connect",
)
_NO_CREDENTIALS = (
    "/latest/api/token",  # address that gives credentials to machines and containers
    "169.254.",
    "loading credentials",  # delta-rs tries several providers of credentials
    "provided credentials",
)
_HALF_A_KEY = ("Missing AccessKeyId", "Missing SecretAccessKey")
_NOT_TRUSTED = "InvalidCertificate"
_OTHER_REGION_TEXT = "incorrectly configured region"
_WRONG_SECRET = frozenset({"SignatureDoesNotMatch"})
_UNKNOWN_KEY = frozenset({"InvalidAccessKeyId", "XAdminUserNotFound", "XAdminNoSuchUser"})
_BAD_TOKEN = frozenset({"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})
_OTHER_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed"})
_DENIED = frozenset({"AccessDenied"})  # a bulk delete's error has no status
_REFUSALS = {"NoSuchBucket"} | _DENIED | _WRONG_SECRET | _UNKNOWN_KEY | _BAD_TOKEN | _OTHER_REGION
_NOT_PERMITTED = (401, 403)
_NO_S3 = (400, 404, 405)  # used only if the answer has no code

_ENDPOINT = "fs.s3a.endpoint, or AWS_ENDPOINT_URL"
_KEYS = "fs.s3a.access.key and fs.s3a.secret.key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def no_bucket(error: Exception) -> bool:
    """Return whether an error says that the bucket does not exist."""
    return "<Code>NoSuchBucket</Code>" in str(error)


def is_out_of_range(error: Exception) -> bool:
    """Return whether an error says that a read began or ended beyond the object's end."""
    return "status code: 416" in str(error)


def names_no_path(error: Exception) -> bool:
    """Return whether an error says that the library cannot represent a listed key as a path."""
    return _NO_PATH.search(str(error)) is not None


def failure(action: str, path: str, text: str, access: S3Access) -> PlaceError:
    """Return seglake's error for an error text of the S3 library."""
    return _kind_of(text)(action=action, path=path, reason=_reason_of(text, access))


def _kind_of(text: str) -> type[StorageError | StoreSilentError]:
    """Return the class of seglake's error for an error text."""
    if any(word in text for word in _NO_CREDENTIALS):
        return StorageError  # a retry may help: a role may be granted later
    if _is_refusal(text):
        return RefusedError
    return StoreSilentError if _is_silence(text) else StorageError


def _is_silence(text: str) -> bool:
    """Return whether the store did not answer in spite of retries."""
    return _STATUS.search(text) is None and any(word in text for word in _SILENT)


def _is_refusal(text: str) -> bool:
    """Return whether retries are useless until somebody corrects the cause."""
    if _NO_PATH.search(text) is not None:
        return True
    if any(word in text for word in (*_HALF_A_KEY, _OTHER_REGION_TEXT, _NOT_TRUSTED)):
        return True
    code, status = _answer(text)
    return code in _REFUSALS or status in _NOT_PERMITTED or (not code and status in _NO_S3)


def _answer(text: str) -> tuple[str, int | None]:
    """Return the store's error code, empty if it sent none, and the HTTP status."""
    code, status = _CODE.search(text), _STATUS.search(text)
    return code[1] if code else "", int(status[1]) if status else None


def _reason_of(text: str, access: S3Access) -> str:
    """Return the reason for a failure, and the property to check."""
    if (strange := _NO_PATH.search(text)) is not None:
        return (
            f"a part of the key {strange[1]} is empty, a dot, two dots or not printable, as in "
            "a//b: copy the object to another key"
        )
    code, status = _answer(text)
    if any(word in text for word in _NO_CREDENTIALS):
        return f"no credentials were found: set {_KEYS}"
    if any(word in text for word in _HALF_A_KEY):
        return f"only one of access key and secret key is set: set {_KEYS}"
    if code == "NoSuchBucket":
        return f"there is no bucket {access.bucket} at {access.place}"
    if code in _WRONG_SECRET:
        return f"{access.place} refuses the secret key: check {_KEYS}"
    if code in _UNKNOWN_KEY:
        return f"the access key is unknown at {access.place}: check {_KEYS}"
    if code in _BAD_TOKEN:
        return f"{access.place} refuses the session token: get new temporary credentials"
    if code in _OTHER_REGION or _OTHER_REGION_TEXT in text:
        return (
            f"the bucket {access.bucket} is not in {access.region}: set fs.s3a.endpoint.region,"
            " or AWS_REGION"
        )
    if "non-partial response" in text:
        return f"{access.place} sends whole objects for requests of a part: it is not an S3 store"
    if code in _DENIED or status in _NOT_PERMITTED:
        why = ", ".join(filter(None, (code, f"HTTP {status}" if status else "")))
        return (
            f"{access.place} denies the access ({why}): the key lacks a permission on bucket"
            f" {access.bucket}, or is wrong; check {_KEYS}"
        )
    if status is None:
        return _unreachable(text, access)
    return _refused(status, code, access)


def _refused(status: int, code: str, access: S3Access) -> str:
    """Return why the store refused a request, by the HTTP status."""
    if status in (429, 503):
        return f"{access.place} is busy (HTTP {status}): run again, with fewer tasks in parallel"
    answer = f"{code}, HTTP {status}" if code else f"HTTP {status}"
    if not code and status in _NO_S3:
        return f"{access.place} does not answer as an S3 store ({answer}): check {_ENDPOINT}"
    return f"{access.place} refuses it ({answer})"


def _unreachable(text: str, access: S3Access) -> str:
    """Return the reason for a request that got no answer."""
    if "dns error" in text:
        return f"the host of {access.place} is unknown: check {_ENDPOINT}"
    if "Connection refused" in text:
        return f"nothing listens at {access.place}: check {_ENDPOINT}"
    if _NOT_TRUSTED in text:
        return f"the certificate of {access.place} is not trusted"
    if "imed out" in text or "TimedOut" in text or "kind: Timeout" in text:
        return f"{access.place} does not answer in time: check {_ENDPOINT}"
    if "kind: Connect" in text or "HTTP error" in text:
        return (
            f"{access.place} cannot be reached: check {_ENDPOINT}, and"
            " fs.s3a.connection.ssl.enabled if it has no scheme"
        )
    plain, _, _ = text.partition("Debug source")
    return " ".join(_URL_AND_AFTER.sub("", plain).split())

"""Reads ranges of S3 objects, writes objects in parts, and makes the client.

obstore is imported late, because runs on local paths do not need it, and it must not be loaded
before a process forks.
"""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from seglake.storage import s3_access
from seglake.storage.errors import FileShrankError, NotFoundError, PlaceError, StorageError
from seglake.storage.remote_output import RemoteOutput
from seglake.storage.s3_access import Keys, S3Access
from seglake.storage.s3_errors import failure, is_out_of_range, no_bucket

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from obstore import GetOptions, WritableFile
    from obstore.store import S3Config, S3Credential, S3Store

_PART_BYTES = 8 << 20
_PARTS_AT_A_TIME = 4
_CLIENTS_KEPT = 32


class Place(NamedTuple):
    """A key in a bucket, with the bucket's client; the root has an empty key."""

    store: "S3Store"
    access: S3Access
    key: str
    path: str


class S3Reader:
    """Reader of ranges of one object.

    If the store has entity tags, each request asks for the same version of the object.
    """

    def __init__(self, place: Place, listed_bytes: int | None = None) -> None:
        """Request the object's size and entity tag.

        Args:
            place: the object.
            listed_bytes: size of the object in a listing, to save this request; the first read
                finds the entity tag.
        """
        self._place = place
        self._tag: str | None = None
        if listed_bytes is not None:
            self.size_bytes = listed_bytes
            return
        with named("open", place):
            found = place.store.head(place.key)
        self._tag = found["e_tag"]
        self.size_bytes = found["size"]

    def read(self, position: int, length: int) -> bytes:
        """Return a range of bytes; raise an error if the object was replaced meanwhile."""
        from obstore.exceptions import GenericError, PreconditionError

        place = self._place
        options: GetOptions = {}
        # Some stores ignore ranges, so a whole object is requested without a range.
        if length < self.size_bytes:
            options["range"] = (position, position + length)
        if self._tag is not None:
            options["if_match"] = self._tag
        try:
            with named("read", place, but_not=(PreconditionError, GenericError)):
                found = place.store.get(place.key, options=options)
                if found.meta["size"] != self.size_bytes:
                    raise self._changed(position)
                data = bytes(found.bytes())
        except PreconditionError:
            raise self._changed(position) from None
        except GenericError as error:
            if is_out_of_range(error):
                raise self._changed(position) from None
            raise failed("read", place, error) from None
        self._tag = self._tag or found.meta["e_tag"]
        if len(data) < length:
            raise self._changed(position + len(data))
        return data

    def _changed(self, reached: int) -> StorageError:
        """Return the error for an object that has become shorter or was replaced."""
        path, now = self._place.path, S3Reader(self._place)
        if now.size_bytes < self.size_bytes:
            return FileShrankError(
                path=path, expected_bytes=self.size_bytes, found_bytes=now.size_bytes
            )
        reason = f"it was replaced while it was read, at byte {reached}"
        return StorageError(action="read", path=path, reason=reason)


class S3Output(RemoteOutput):
    """A new object, which exists once it is closed; a long object is sent in parts.

    Parts of a discarded output stay until the bucket's lifecycle rules delete them.
    """

    def __init__(self, place: Place) -> None:
        """Open a writer; the first part is sent once it is full."""
        import obstore

        super().__init__()
        self._place = place
        self._writer: WritableFile | None = obstore.open_writer(
            place.store, place.key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_AT_A_TIME
        )

    def _send(self, data: "ReadableBuffer") -> None:
        """Append bytes to the object; send parts that are full."""
        if self._writer is None:
            raise ValueError("write to an abandoned file")
        with named("write", self._place):
            self._writer.write(data)

    def _finish(self) -> None:
        """Send the object, or complete the upload of its parts."""
        if self._writer is not None:
            with named("write", self._place):
                self._writer.close()

    def _forget(self) -> None:
        """Abandon the writer, so that no object is created."""
        self._writer = None


@contextlib.contextmanager
def named(
    action: str, place: Place, *, but_not: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn the library's errors in the block into seglake's, except the classes in `but_not`.

    The original error is not kept as the cause, because the store's answer in it may contain an
    access key.
    """
    from obstore.exceptions import BaseError

    try:
        yield
    except but_not:
        raise
    except (BaseError, OSError) as error:
        raise failed(action, place, error) from None


def failed(action: str, place: Place, error: Exception) -> PlaceError:
    """Return seglake's error for an error of the S3 library."""
    if isinstance(error, FileNotFoundError) and not no_bucket(error):
        return NotFoundError(action=action, path=place.path)
    return failure(action, place.path, str(error), place.access)


@lru_cache(maxsize=_CLIENTS_KEPT)
def client_of(access: S3Access) -> "S3Store":
    """Return this process's shared client for a bucket; it keeps connections open."""
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

    config: S3Config = {
        "region": access.region,
        "virtual_hosted_style_request": access.is_virtual_hosted,
        "skip_signature": access.is_anonymous,
    }
    if access.bucket_endpoint is not None:
        config["endpoint"] = access.bucket_endpoint
    try:
        return S3Store(
            access.bucket,
            config=config,
            client_options={
                "allow_http": (access.endpoint or "").startswith("http:"),
                "connect_timeout": timedelta(seconds=s3_access.CONNECT_SECONDS),
                "read_timeout": timedelta(seconds=s3_access.SILENCE_SECONDS),
                "timeout": timedelta(seconds=s3_access.REQUEST_SECONDS),
            },
            retry_config={
                "max_retries": s3_access.MOST_RETRIES,
                "retry_timeout": timedelta(seconds=s3_access.RETRY_SECONDS),
            },
            credential_provider=None if access.keys is None else partial(_credential, access.keys),
        )
    except (BaseError, ValueError) as error:
        raise failure("use", f"s3://{access.bucket}", str(error), access) from None


def _credential(keys: Keys) -> "S3Credential":
    """Return the keys as obstore's credential.

    As options, the keys would be mixed with the environment's keys.
    """
    return {
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "token": keys.session_token,
        "expires_at": None,
    }

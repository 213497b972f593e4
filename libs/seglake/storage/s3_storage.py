"""Storage on S3 and compatible stores: `s3://bucket/key`, also written `s3a://`.

S3 has no folders: a folder exists if some key begins with its path. An object is written whole or
not at all, and is durable without a sync.
"""

import contextlib
import posixpath
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO, cast

from seglake.storage import s3_access
from seglake.storage.errors import (
    LakeFolderError,
    NotFoundError,
    PlaceError,
    RefusedError,
    StorageError,
    UnsupportedUriError,
)
from seglake.storage.read_ahead import ReadAhead
from seglake.storage.s3_errors import failure, names_no_path
from seglake.storage.s3_objects import Place, S3Output, S3Reader, client_of, failed, named
from seglake.storage.storage import FileInfo, Reader, RemoteStorage

if TYPE_CHECKING:
    from obstore import ObjectMeta

S3_SCHEMES = ("s3", "s3a")
_LISTED_AT_A_TIME = 1000


class S3Storage(RemoteStorage):
    """Storage on all buckets; the properties have the endpoint and keys of each bucket."""

    def locate(self, uri: str) -> str:
        """Return the path `s3://bucket/key` of a URI, normalized."""
        scheme, colon, rest = uri.partition("://")
        bucket, _, key = rest.partition("/")
        if not colon or scheme.lower() not in S3_SCHEMES or not bucket or "\0" in uri:
            raise UnsupportedUriError(uri=uri, schemes=("s3://bucket/key", "s3a://bucket/key"))
        if "@" in bucket:
            shown = f"{scheme}://...@{bucket.rpartition('@')[2]}/{key}"
            raise UnsupportedUriError(uri=shown, schemes=("a location without a key",))
        parts = posixpath.normpath(f"/{key}").strip("/")
        return f"s3://{bucket}/{parts}".rstrip("/")

    def list_folder(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        place = self._place(path)
        with named("list", place):
            found = place.store.list_with_delimiter(place.key or None)
        # An object with the folder's own name is only a marker.
        objects = [item for item in found["objects"] if item["path"] != place.key]
        entries = [
            _folder(f"s3://{place.access.bucket}/{prefix}", prefix)
            for prefix in found["common_prefixes"]
            if prefix
        ]
        # For such keys, the library returns an empty prefix.
        if len(entries) < len(found["common_prefixes"]):
            problem = "keys that begin with a slash: copy the objects to other keys"
            entries.append(FileInfo(f"{path}//", "", 0, 0, False, problem))
        entries += [_described(place.access.bucket, item) for item in objects]
        if not entries and not found["objects"] and place.key:
            raise self._nothing_to_list(place)
        entries.sort(key=lambda entry: entry.name)
        return entries

    def list_after(self, folder: str, name: str) -> list[FileInfo]:
        """Return a folder's files whose names come after `name`; the store lists only these."""
        place = self._place(self.join(folder, name))
        begin = place.key.removesuffix(name)
        with named("list", place):
            pages = place.store.list(begin, offset=place.key, chunk_size=_LISTED_AT_A_TIME)
            objects = [item for page in pages for item in page]
        here = [item for item in objects if "/" not in item["path"].removeprefix(begin)]
        entries = [_described(place.access.bucket, item) for item in here]
        return sorted(entries, key=lambda entry: entry.name)

    def info(self, path: str) -> FileInfo | None:
        """Return a description of an object or folder; None if it does not exist."""
        from obstore.exceptions import BaseError, PermissionDeniedError

        place = self._place(path)
        refusal: Exception | None = None
        if place.key:
            try:
                with named("access", place, but_not=(PermissionDeniedError,)):
                    return _described(place.access.bucket, place.store.head(place.key))
            except NotFoundError:
                pass
            except PermissionDeniedError as error:
                # A HEAD request's answer has no reason; a listing's answer may have one.
                refusal = error
        try:
            with named("access", place, but_not=(BaseError,)):
                pages = place.store.list(place.key or None, chunk_size=_LISTED_AT_A_TIME)
                is_there = next(iter(pages), None) is not None or not place.key
        except BaseError as error:
            is_there = names_no_path(error)  # the unusable key proves that the folder exists
            if not is_there:
                raise failed("access", place, error) from None
        if refusal is not None:
            raise failed("access", place, refusal) from None
        return _folder(path, place.key) if is_there else None

    def open_reader(self, path: str) -> Reader:
        """Open an object for reads at any position; the reader reads ahead."""
        return ReadAhead(S3Reader(self._place(path)))

    def open_listed(self, path: str, size_bytes: int) -> Reader:
        """Open an object that never changes; its first read finds its entity tag."""
        return ReadAhead(S3Reader(self._place(path), size_bytes))

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a small object."""
        place = self._place(path)
        with named("read", place):
            return bytes(place.store.get(place.key).bytes())

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a whole object, durable on return."""
        place = self._place(path)
        with named("write", place):
            place.store.put(place.key, data, use_multipart=False)

    def open_output(self, path: str) -> BinaryIO:
        """Open a new object for writing; it exists once it is closed."""
        return cast(BinaryIO, S3Output(self._place(path)))

    def discard(self, output: BinaryIO, path: str) -> None:
        """Abandon an output that is not closed yet, so that no object is created."""
        if isinstance(output, S3Output):
            output.discard()

    def delete(self, path: str) -> None:
        """Delete an object, if it exists."""
        place = self._place(path)
        with contextlib.suppress(NotFoundError), named("delete", place):
            place.store.delete(place.key)

    def make_folder(self, path: str) -> None:
        """Do nothing, since a folder exists once it has an object."""

    def creates_exclusively(self, folder: str) -> bool:
        """Return whether the store refuses to create an object twice, so that no commit is lost.

        It creates and deletes a small object in the folder.
        """
        from obstore.exceptions import AlreadyExistsError

        place = self._place(self.join(folder, f"probe-{uuid.uuid4().hex}"))
        try:
            for content in (b"first", b"second"):
                with named("write", place, but_not=(AlreadyExistsError,)):
                    place.store.put(place.key, content, mode="create")
            is_exclusive = False
        except AlreadyExistsError:
            is_exclusive = True
        try:
            self.delete(place.path)
        # The probe exists although the store reported an error.
        except RefusedError as error:
            raise StorageError(action="delete", path=place.path, reason=error.reason) from None
        return is_exclusive

    def failure(self, action: str, path: str, text: str) -> PlaceError:
        """Return seglake's error for an error text of delta-rs."""
        return failure(action, path, text, self._place(path).access)

    def hadoop_uri(self, path: str) -> str:
        """Return the path with the scheme of Hadoop's S3A."""
        return path.replace("s3://", "s3a://", 1)

    def hadoop_properties(self, path: str) -> Mapping[str, str]:
        """Return the properties of S3A for the path's bucket; they contain secrets."""
        return s3_access.s3a_properties(self._place(path).access)

    def delta_options(self, path: str) -> Mapping[str, str]:
        """Return the options of delta-rs for a path; they contain secrets.

        Raises:
            LakeFolderError: delta-rs would write to another path, because it parses the path as a
                URL.
        """
        if "#" in path or "?" in path:
            raise LakeFolderError(path=path, reason="its name has a # or a question mark")
        return s3_access.delta_options(self._place(path).access)

    def _place(self, path: str) -> Place:
        """Return a path with its key and client; raise RefusedError if it names no bucket."""
        bucket, _, key = path.removeprefix("s3://").partition("/")
        if not bucket or ":" in bucket:
            raise RefusedError(action="use", path=path, reason="it names no bucket")
        access = s3_access.access_of(self._properties, bucket)
        return Place(client_of(access), access, key, path)

    def _nothing_to_list(self, place: Place) -> StorageError:
        """Return the error for a path without entries: it is a file, or does not exist."""
        info = self.info(place.path)
        if info is not None and not info.is_folder:
            return StorageError(action="list", path=place.path, reason="it is a file")
        return NotFoundError(action="list", path=place.path)


def _folder(path: str, key: str) -> FileInfo:
    """Return the entry of a subfolder in a folder's listing."""
    name = posixpath.basename(key)
    return FileInfo(path=path, name=name, size_bytes=0, modified_at_ms=0, is_folder=True)


def _described(bucket: str, found: "ObjectMeta") -> FileInfo:
    """Return the entry of an object in the listing of its folder."""
    key = found["path"]
    return FileInfo(
        path=f"s3://{bucket}/{key}",
        name=posixpath.basename(key),
        size_bytes=found["size"],
        modified_at_ms=int(found["last_modified"].timestamp() * 1000),
        is_folder=False,
    )

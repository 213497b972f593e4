"""Reads the user's schemas from a file or a folder."""

from collections.abc import Sequence

from seglake.errors import WrongCallError
from seglake.storage.errors import NotFoundError, RefusedError
from seglake.storage.storage import Storage
from seglake.value_codec.registry.registry_records import Registration, UnreadableSchemaError
from seglake.value_codec.registry.schema_files import (
    LIST_NAME,
    is_schema_name,
    listed_registrations,
    registrations_in,
)


class SchemaFileError(WrongCallError):
    """A file or folder has no valid schemas."""

    def __init__(self, *, place: str, reason: str) -> None:
        """Make the message from the path or URI, and the fault as text."""
        super().__init__(f"cannot read schemas from {place}: {reason}")


def schemas_at(place: str, storage: Storage) -> Sequence[Registration]:
    """Return the schemas in a file or a folder.

    Args:
        place: path or URI of a list of schemas, or of a folder with `schemas.json` or with
            `<id>.avsc`, `<id>.proto` and `<id>.json`.
        storage: the storage of the file or folder.

    Raises:
        SchemaFileError: the file or folder does not exist or has no schemas, or a schema is
            invalid.
    """
    path = storage.locate(place)
    try:
        info = storage.info(path)
        if info is None:
            raise SchemaFileError(place=place, reason="no such file or folder")
        if not info.is_folder:
            return listed_registrations(storage.read_bytes(path))
        names = [entry.name for entry in storage.list_folder(path) if is_schema_name(entry.name)]
        if not names:
            reason = f"it has neither {LIST_NAME} nor files such as 17.avsc, 17.proto or 17.json"
            raise SchemaFileError(place=place, reason=reason)
        names = [LIST_NAME] if LIST_NAME in names else sorted(names)
        return registrations_in({n: storage.read_bytes(storage.join(path, n)) for n in names})
    except UnreadableSchemaError as error:
        raise SchemaFileError(place=place, reason=str(error)) from None
    except (NotFoundError, RefusedError) as error:
        raise SchemaFileError(place=place, reason=error.reason) from error

"""Messages of one Protobuf schema, each with its reader, made on demand."""

from collections.abc import Mapping
from typing import Any

from seglake.value_codec.protobuf.compiler import ProtoTextError, compiled
from seglake.value_codec.protobuf.message_paths import message_at, messages_by_name
from seglake.value_codec.protobuf.value_reader import ProtobufReader


class SchemaMessages:
    """Readers of the messages of a schema, by path or by Glue's index."""

    def __init__(self, text: str, imports: Mapping[str, str]) -> None:
        """Compile a schema.

        Raises:
            ProtoTextError: the text is no schema, an import is missing, or messages nest too
                deeply.
        """
        from google.protobuf.message_factory import GetMessageClass

        self._file: Any = compiled(text, imports)
        try:
            for message in messages_by_name(self._file):
                GetMessageClass(message)
        except RecursionError:
            raise ProtoTextError("its messages nest too deeply") from None
        self._readers: dict[str, ProtobufReader] = {}

    def at(self, path: tuple[int, ...]) -> tuple[str, ProtobufReader] | None:
        """Return the full name and the reader of the message at a path; None if there is none."""
        found = message_at(self._file, path)
        return None if found is None else self._of(found)

    def numbered(self, index: int) -> tuple[str, ProtobufReader] | None:
        """Return the full name and the reader of the message that has an index of Glue's, or None.

        Args:
            index: at least 0.
        """
        messages = messages_by_name(self._file)
        return self._of(messages[index]) if index < len(messages) else None

    def named(self, name: str) -> tuple[str, ProtobufReader] | None:
        """Return the full name and the reader of a message; None if there is none."""
        found = [each for each in messages_by_name(self._file) if each.full_name == name]
        return self._of(found[0]) if found else None

    def _of(self, message: Any) -> tuple[str, ProtobufReader]:
        name = message.full_name
        if name not in self._readers:
            self._readers[name] = ProtobufReader(message)
        return name, self._readers[name]

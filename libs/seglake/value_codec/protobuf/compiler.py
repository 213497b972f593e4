"""Compiles a Protobuf schema to descriptors.

protoc reads files only, so the texts are written to a temporary folder, which is deleted at once.
protoc runs in this process, and imports nothing but these files, the known imports and Google's own
types.
"""

import ast
import re
import tempfile
import tomllib
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

_MAIN = "schema.proto"
_SERIALIZED = re.compile(rb"AddSerializedFile\((b'.*')\)")
_HAS_SYNTAX = re.compile(r"\b(?:syntax|edition)\s*=")
_MOST_BYTES = 8 << 20  # longest text of a schema with all its imports, in bytes


class ProtoTextError(ValueError):
    """Error for a text that is no Protobuf schema; the message says why."""


def has_protobuf() -> bool:
    """Return whether the packages of the extra `protobuf` are installed."""
    return all(_is_installed(name) for name in ("google.protobuf", "grpc_tools"))


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around the module is missing
        return False


# Any: google.protobuf has no type hints.
def compiled(text: str, imports: Mapping[str, str]) -> Any:
    """Return the file descriptor of a schema, in a separate pool.

    Args:
        text: the schema: the text of a .proto file, or a serialized FileDescriptorProto in base64,
            which clients for Python and .NET register, and Apicurio keeps as it is.
        imports: the schemas that it imports, by the path in the import. A text cannot import a
            serialized one.

    Raises:
        ProtoTextError: the text or an import is no schema, or imports a file that is not given.
    """
    from google.protobuf import descriptor_pool

    if len(text) + sum(map(len, imports.values())) > _MOST_BYTES:
        raise ProtoTextError("the schema is too long")
    pool = descriptor_pool.DescriptorPool()
    main = _main_name(imports)
    files: dict[str, Any] = {}
    try:
        _add_file(files, main, text, imports)
        for file in files.values():
            _remove_extensions(file)
            pool.Add(file)
        return pool.FindFileByName(main)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise ProtoTextError(f"the schema cannot be loaded: {error}") from None


def _add_file(files: dict[str, Any], path: str, text: str, imports: Mapping[str, str]) -> None:
    """Add the descriptor of a file to others by path; a file follows those that it imports."""
    file = _serialized_schema(text)
    if file is None:
        for found in _compiled_files(path, text, imports):
            files.setdefault(found.name, found)
        return
    file.name = path
    others = {name: each for name, each in imports.items() if name != path}  # ends a circle
    for needed in file.dependency:
        if needed in files:
            continue
        if needed in others:
            _add_file(files, needed, others[needed], others)
        else:
            for found in _compiled_files(_MAIN, f'import "{needed}";', {})[:-1]:
                files.setdefault(found.name, found)
    files[path] = file


def _serialized_schema(text: str) -> Any | None:
    """Return the FileDescriptorProto that a text has in base64; None for any other text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        content = b64decode(text.strip(), validate=True)
        return FileDescriptorProto.FromString(content) if content else None
    except (ValueError, DecodeError):
        return None


def _remove_extensions(file: Any) -> None:
    """Remove the extensions from a file's descriptor.

    The library would read extensions separately from the fields with columns. Without their
    descriptors, extensions are unknown fields, whose bytes are kept.
    """
    del file.extension[:]
    messages = [*file.message_type]
    for message in messages:  # the list grows meanwhile
        del message.extension[:]
        messages += message.nested_type


@cache
def known_imports() -> Mapping[str, str]:
    """Return the texts of the files that every registry has, by path."""
    text = files(__package__).joinpath("known_imports.toml").read_text("utf-8")
    return tomllib.loads(text)


def _main_name(imports: Mapping[str, str]) -> str:
    """Return a path for the schema itself that no import has."""
    name = _MAIN
    while name in imports:
        name = f"_{name}"
    return name


def _compiled_files(main: str, text: str, imports: Mapping[str, str]) -> list[Any]:
    """Return the descriptors of a text's files, its own last; a file follows its imports."""
    import grpc_tools
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from grpc_tools import _protoc_compiler

    texts = text, *imports.values()
    known = {
        path: content
        for path, content in known_imports().items()
        if any(path in each for each in texts)
    }
    own = str(Path(grpc_tools.__file__).parent / "_proto")
    with tempfile.TemporaryDirectory(prefix="seglake-proto-") as folder:
        for name, content in {**known, **imports, main: text}.items():
            _write(Path(folder), name, content)
        places = [folder.encode(), own.encode()]
        try:
            found = _protoc_compiler.get_protos(main.encode(), places)
        except _protoc_compiler.ProtocErrors as error:
            first = str(error).strip().splitlines()[:1]
            raise ProtoTextError("".join(first).removeprefix(f"{main}:")) from None
    return [FileDescriptorProto.FromString(_serialized(content)) for _, content in found]


def _write(folder: Path, name: str, content: str) -> None:
    """Write a schema into a folder, even if its path leads elsewhere."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0].startswith("/") or "\0" in name:
        raise ProtoTextError("an import leaves the folder of the schema")
    path = folder.joinpath(*parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_with_syntax(content).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise ProtoTextError(f"an import has no path of a file: {error.strerror}") from None


def _with_syntax(text: str) -> str:
    """Return a schema with the syntax that it has by default; protoc warns on stderr without it."""
    if _HAS_SYNTAX.search(text):
        return text
    return 'syntax = "proto2"; ' + text.removeprefix("\ufeff")


def _serialized(generated: bytes) -> bytes:
    """Return the serialized descriptor in a module that protoc generates."""
    found = _SERIALIZED.search(generated)
    if found is None:
        raise ProtoTextError("protoc gives no descriptor")
    content: bytes = ast.literal_eval(found[1].decode("utf-8"))
    return content

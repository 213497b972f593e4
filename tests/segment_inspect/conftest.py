"""Looks into files as `seglake inspect` does, in this process."""

import io
import json
from pathlib import Path
from typing import Any, Protocol

import pytest

from seglake.pipelines.segment_inspect.run import inspect
from seglake.pipelines.segment_inspect.shown_part import Part
from seglake.storage.local_storage import LocalStorage

Line = dict[str, Any]


class JsonLook(Protocol):
    def __call__(
        self, path: Path, *, records: bool = False, offset: int | None = None
    ) -> list[Line]: ...


class TextLook(Protocol):
    def __call__(self, path: Path, *, records: bool = False, offset: int | None = None) -> str: ...


def _printed(path: Path, *, records: bool, offset: int | None, as_json: bool) -> str:
    out = io.StringIO()
    part = Part(offset=offset)
    code = inspect(str(path), LocalStorage(), records=records, part=part, as_json=as_json, out=out)
    assert code == 0
    return out.getvalue()


@pytest.fixture(scope="session")
def json_look() -> JsonLook:
    """The lines of --json, parsed."""

    def look(path: Path, *, records: bool = False, offset: int | None = None) -> list[Line]:
        text = _printed(path, records=records, offset=offset, as_json=True)
        return [json.loads(line) for line in text.splitlines()]

    return look


@pytest.fixture(scope="session")
def text_look() -> TextLook:
    """What a person gets."""

    def look(path: Path, *, records: bool = False, offset: int | None = None) -> str:
        return _printed(path, records=records, offset=offset, as_json=False)

    return look

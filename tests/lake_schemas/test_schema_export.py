"""An export has every schema: in the registry's form, and each id in a file of its own."""

import json
from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.pipelines.lake_schemas.run import export_schemas, list_schemas
from seglake.storage.local_storage import LocalStorage
from support.lakes import ingested
from support.typed_disk import Pair, oracle_schemas, schema_pair, typed_lake, write_registry


def exported(lake: Path, folder: Path, source_id: str | None = None) -> dict[str, str]:
    storage = LocalStorage()
    found = list_schemas(str(lake), storage, source_id=source_id)
    count = export_schemas(found, str(folder), storage)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert count == len(files)
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def made(tmp_path: Path, *pairs: Pair) -> dict[str, str]:
    ingested(write_registry(tmp_path / "disk", [(0, pairs)]), tmp_path / "lake")
    return exported(tmp_path / "lake", tmp_path / "out")


def test_schemas_json_has_the_registry_s_own_values(tmp_path: Path) -> None:
    found = exported(typed_lake(tmp_path / "lake", "_schemas"), tmp_path / "out")
    values = json.loads(found["schemas.json"])
    # `md5` is the same number as the GUID.
    assert values == [{k: v for k, v in s.items() if k != "md5"} for s in oracle_schemas()]
    assert found["37.json"] == next(s["schema"] for s in oracle_schemas() if s["id"] == 37)
    assert {"1.avsc", "34.proto", "5004.txt", "lab/6001.avsc", "6001.avsc"} <= found.keys()


def test_an_id_with_two_schemas_has_two_files(tmp_path: Path) -> None:
    other = schema_pair("b", 1, 1, schema='"long"')
    found = made(tmp_path, schema_pair("a", 1, 1), other)
    assert (found["1.avsc"], found["1-2.avsc"]) == ('"int"', '"long"')


@pytest.mark.parametrize("context", ["../../x", "..", "a/../../b", "/etc"])
def test_no_context_leads_out_of_the_folder(tmp_path: Path, context: str) -> None:
    found = made(tmp_path, schema_pair(f":.{context}:a", 1, 1))
    assert len(found) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"disk", "lake", "out"}


def test_a_lake_with_two_registries_names_them(tmp_path: Path) -> None:
    for name in ("east", "west"):
        disk = write_registry(tmp_path / name, [(0, [schema_pair(name, 1, 1)])], cluster_id=name)
        ingested(disk, tmp_path / "lake")
    with pytest.raises(WrongCallError, match="_schemas of east, _schemas of west"):
        exported(tmp_path / "lake", tmp_path / "out")
    assert len(exported(tmp_path / "lake", tmp_path / "out", "east")) == 2

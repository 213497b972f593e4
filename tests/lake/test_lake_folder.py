"""Where the storage refuses us: as the lake is opened, and later in a run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from seglake.errors import SeglakeError
from seglake.lake.delta_commit import versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import LakeRefusedError
from seglake.lake.table_creation import create_missing
from seglake.lake.table_log import TableLog
from seglake.storage.errors import RefusedError, StorageError
from support.lake_rows import SOURCE, Lake, lake_at


@pytest.mark.parametrize("call", [LakeTables.exists, LakeTables.require, create_missing])
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Permission denied (os error 13)", LakeRefusedError),
        ("Input/output error (os error 5)", StorageError),
    ],
)
def test_place_that_refuses_us_is_told_where_the_lake_is_opened(
    tmp_path: Path,
    call: Callable[[LakeTables], object],
    said: str,
    kind: type[SeglakeError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(path: str, options: object) -> bool:
        raise OSError(said)

    monkeypatch.setattr(DeltaTable, "is_deltatable", fail)
    tables = lake_at(tmp_path / "lake").tables
    with pytest.raises(kind, match=said.partition(" (")[0]) as caught:
        call(tables)
    assert str(caught.value).count(str(tmp_path)) == 1
    assert list(tmp_path.iterdir()) == []


def test_refusal_in_the_middle_of_a_run_is_none_of_the_opening(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: DeltaTable, app: str) -> int:
        raise DeltaError("Kernel error: Permission denied (os error 13)")

    monkeypatch.setattr(TableLog, "_read_up_to", lambda self, version: None)
    monkeypatch.setattr(DeltaTable, "transaction_version", fail)
    with pytest.raises(RefusedError, match="Permission denied"):
        versions(lake.tables, SOURCE, ["orders"])

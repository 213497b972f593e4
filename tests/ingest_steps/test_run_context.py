"""What a run reads of the lake first: the versions, and then the ledger."""

import threading
from pathlib import Path
from typing import Any

import pytest

from seglake.lake import app_versions
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import create_missing
from seglake.pipelines.segment_ingest import ingest as run
from seglake.storage.local_storage import LocalStorage
from support.accounts import imbalances_of
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.meanwhile import Meanwhile, once
from support.taken import offsets_taken, records_taken
from support.three_logs import all_records


def test_a_commit_of_another_run_between_versions_and_ledger_is_not_taken_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run has decided when ours plans, and publishes while ours decodes."""
    lake = tmp_path / "lake"
    is_decided, may_publish = threading.Event(), threading.Event()

    def other_run() -> None:
        def pause(step: str) -> None:
            if step == "records":
                is_decided.set()
                may_publish.wait(60)

        ingested(source, lake, after=pause)

    other = threading.Thread(target=other_run)

    def recover_before_the_other_decides(*arguments: Any, **options: Any) -> tuple[str, ...]:
        done = recover(*arguments, **options)
        if not other.ident:
            other.start()
            is_decided.wait(60)
        return done

    def publish() -> None:
        may_publish.set()
        other.join(60)

    create_missing(LakeTables(str(lake), LocalStorage()))
    monkeypatch.setattr(run, "recover", recover_before_the_other_decides)
    summary = ingested(source, lake, engine=Meanwhile(publish))
    assert not other.is_alive()
    assert (summary.exit_code, summary.records) == (0, 0)
    assert records_taken(lake) == all_records()
    assert imbalances_of(lake) == []


def test_a_commit_of_another_run_before_the_versions_are_read_is_not_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the other run happens then: a ledger that was read before would not know of it."""
    lake = tmp_path / "lake"
    source = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]})
    ingested(make_log_dir(tmp_path / "first", {("payments", 0): [0, 5]}), lake)
    other_run = once(lambda: ingested(source, lake))

    version_steps = app_versions.version_steps

    def steps_after_the_other(*arguments: Any) -> Any:
        other_run()
        return version_steps(*arguments)

    monkeypatch.setattr(app_versions, "version_steps", steps_after_the_other)
    summary = ingested(source, lake)
    assert (summary.exit_code, summary.records) == (0, 0)
    assert offsets_taken(lake) == list(range(20))
    assert imbalances_of(lake) == []

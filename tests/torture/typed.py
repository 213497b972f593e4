"""Drawn clusters with typed values: ingested and decoded in steps, in random orders.

After each run of `deserialize`, and at the end, each record is one typed row or one reject; its
leaves are those that fastavro and other libraries read. A lake that did everything at once has the
same columns and rows.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from deltalake import DeltaTable

from seglake.errors import ExitCode
from seglake.lake.delta_tables import LakeTables
from seglake.pipelines.lake_deserialize.deserialize_choice import ONLY_NEW, Again
from seglake.pipelines.lake_deserialize.dry_run import count_decodable
from seglake.pipelines.lake_query.duckdb_queries import DuckDBQueries
from seglake.settings.settings import SelectSettings
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.frames.forms import Form
from support.audits import audited
from support.drawn_typed.checks import (
    Known,
    checkpoint_problems,
    problems,
    record_problems,
    standing_count,
)
from support.drawn_typed.clusters import DrawnCluster
from support.dying import Died, dying
from support.lakes import ingested
from support.typed_lakes import SILENT, decoded
from support.typed_rows import typed_rows
from torture.drawn_runs import drawn_runs
from torture.rows import Row

_KILLS = ("redo", "value_rejects", "cleaned", "typed_checkpoints", "typed/topic0", "recovering")
_REJECTS, _REBUILD = Again(rejects=True), Again(everything=True)
_OF_A_RUN = {"_generation", "_run_id"}


def campaign(seconds: float, seed: int) -> Iterator[Row]:
    """Clusters, calm ones and then killed ones."""
    return drawn_runs("typed", tried, seconds=seconds, seed=seed)


def tried(folder: Path, chance: random.Random, kills: bool) -> tuple[list[str], str]:
    """Run the schedule of a cluster; return its steps and what is wrong, empty if nothing."""
    run = _Schedule(folder, chance, kills)
    try:
        run.in_steps()
        run.at_once()
    except AssertionError as error:
        return run.steps, str(error).splitlines()[0] if str(error) else repr(error)
    except BaseException:
        print(f"typed: {run.steps}", flush=True)
        raise
    return run.steps, ""


class _Schedule:
    """A drawn cluster, and the lakes that it is decoded in."""

    def __init__(self, folder: Path, chance: random.Random, kills: bool) -> None:
        self.steps: list[str] = []
        self._chance, self._kills = chance, kills
        self._cluster = DrawnCluster(chance)
        self._disk, self._lake, self._other = folder / "disk", folder / "lake", folder / "other"
        self._parts = 0
        self._known = Known.SOME

    def in_steps(self) -> None:
        """Ingest and decode part by part; the registry's log may come later than the topics'."""
        for parts in range(1, self._cluster.parts + 1):
            late = self._chance.random() < 0.3
            self._ingest(parts, parts - late)
            self._decode(self._chance.choice((ONLY_NEW, ONLY_NEW, ONLY_NEW, _REJECTS, _REBUILD)))
        self._ingest(self._cluster.parts, self._cluster.parts)
        if self._chance.random() < 0.7:
            self._decode(ONLY_NEW)
        self._known = Known.LATER
        self._decode(_REJECTS)
        found = audited(self._lake)
        assert found.exit_code is ExitCode.DONE, found.findings
        self._ask("current_value_rejects", standing_count(self._lake))
        for name in ("topic0", "topic1"):
            if (self._lake / "typed" / name).exists():
                self._ask(f"typed_{name}", len(typed_rows(self._lake, name)))

    def at_once(self) -> None:
        """Decode everything anew, and in another lake in one run: columns and rows are equal."""
        self._known = Known.ALL
        self._decode(_REBUILD)
        disk = self._cluster.write(self._disk, self._cluster.parts, self._cluster.parts)
        ingested(disk, self._other, isolation="read_committed")
        decoded(self._other)
        self._hold(problems(self._other, self._cluster, self._parts, Known.ALL))
        tables, others = _tables(self._lake), _tables(self._other)
        for record in {*tables, *others}:
            assert _content(tables.get(record)) == _content(others.get(record)), (
                f"{record} differs from a lake that was decoded at once"
            )

    def _ingest(self, parts: int, registry_parts: int) -> None:
        self.steps.append(f"ingest {parts} {registry_parts}")
        disk = self._cluster.write(self._disk, parts, registry_parts)
        ingested(disk, self._lake, isolation="read_committed")
        self._parts = parts
        self._hold(record_problems(self._lake, self._cluster, parts))

    def _decode(self, again: Again) -> None:
        name = "rebuild" if again.everything else "retry" if again.rejects else "decode"
        kill = self._chance.choice(_KILLS) if self._kills and self._chance.random() < 0.5 else ""
        self.steps.append(f"{name}!{kill}" if kill else name)
        expected = self._dry_run() if again.everything and not kill else None
        try:
            done = decoded(self._lake, again=again, after=dying(kill))
        except Died:
            self.steps[-1] += " died"
            if again.everything:  # a dropped topic is decoded by any later run
                decoded(self._lake)
            done = decoded(self._lake, again=again)
        self._hold(problems(self._lake, self._cluster, self._parts, self._known))
        self._hold(checkpoint_problems(self._lake))
        self.steps[-1] += f" {int(done.exit_code)}"
        counts = {each.topic: (each.typed_rows, each.value_rejects) for each in done.topics}
        assert expected in (None, counts), f"a dry run counts {expected}, the rebuild {counts}"

    def _ask(self, view: str, expected: int) -> None:
        """Count the rows of a view as `seglake sql` has it."""
        tables = LakeTables(str(self._lake), LocalStorage())
        with DuckDBQueries(tables, spill_folder="") as queries:
            [rows] = queries.answer(f"SELECT count(*) AS n FROM {view}").batches
        assert rows.to_pylist() == [{"n": expected}], f"{view} has not {expected} rows"

    def _dry_run(self) -> dict[str, tuple[int, int]]:
        """The typed rows and rejects of each topic that a dry run counts."""
        found = count_decodable(str(self._lake), LocalStorage(), SILENT, SelectSettings())
        return {
            each.topic: (each.decoded + each.nulls, each.reject_count)
            for each in found.parts
            if each.part == "value" and each.records and each.form is not Form.NONE
            if each.topic not in found.left_out
        }

    def _hold(self, found: Iterator[str]) -> None:
        text = next(found, "")
        assert not text, text


def _tables(lake: Path) -> dict[tuple[str, str], Path]:
    """The typed tables by topic and record type: a later type does not rename the first table.

    Those of JSON without a schema in the registry are left out: the order of the files decides
    which of several types gets the column with the field's name.
    """
    folders = (lake / "typed").iterdir() if (lake / "typed").exists() else ()
    facts = {folder: DeltaTable(str(folder)).metadata().configuration for folder in folders}
    return {
        (of["seglake.topic"], of["seglake.record"]): folder
        for folder, of in facts.items()
        if of["seglake.value_form"] not in (Form.JSON, Form.CONNECT_JSON)
    }


def _content(folder: Path | None) -> tuple[list[str], list[str]]:
    """The names of a table's columns, and its rows without what each run makes anew.

    Tombstones are left out: they are in the table that was created first.
    """
    rows = typed_rows(folder.parents[1], folder.name) if folder is not None else []
    rows = [row for row in rows if not row["_tombstone"]]
    names = [name for name in rows[0] if name not in _OF_A_RUN] if rows else []
    return names, [repr({each: row[each] for each in names}) for row in rows]

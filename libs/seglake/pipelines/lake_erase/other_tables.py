"""Erases the requested records from other tables than `records`.

Rows of internal topics' tables, typed tables and rejects are found by the position of their record.
Damaged batches, salvaged records and latest state are searched directly, because they may have
records that `records` lacks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from seglake.ingest_steps.repair.salvage import APP as SALVAGE_APP
from seglake.ingest_steps.run_context import RunContext
from seglake.lake.latest_tables import FENCE_APP, latest_tables
from seglake.lake.place_columns import PlaceColumns, place_columns
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.lake.tables import LOG_TABLES, QUARANTINE, SALVAGED_RECORDS, Table
from seglake.lake.typed_tables import typed_tables
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.pipelines.lake_erase.file_changes import ChangedTable, change_rows
from seglake.pipelines.lake_erase.found_rows import PLACE_SCHEMA, FoundRows, Requested
from seglake.pipelines.lake_erase.placed_rows import RecordPlaces, find_placed
from seglake.pipelines.lake_erase.rewritten_files import Positions
from seglake.pipelines.lake_erase.row_search import RowSearch


@dataclass(slots=True)
class OtherTables:
    """Eraser for all tables except `records`; it searches no file twice for the same records.

    Attributes:
        search: search for the requested records.
        changed: number of changed rows and files, by table.
    """

    search: RowSearch
    changed: dict[str, ChangedTable] = field(default_factory=dict)
    _damaged: dict[str, FoundRows] = field(default_factory=dict)

    @property
    def run(self) -> RunContext:
        """Return the run."""
        return self.search.run

    @property
    def requested(self) -> Requested:
        """Return the choice of records."""
        return self.search.requested

    @property
    def undecodable(self) -> dict[str, int]:
        """Return the number of damaged batches that could not be searched, by partition."""
        total: Counter[str] = Counter()
        for found in self._damaged.values():
            total.update(found.undecodable)
        return dict(sorted(total.items()))

    def searched_records(self) -> pa.Table:
        """Return the places of the requested records in the tables that are searched themselves."""
        tables = self.run.tables
        parts = [PLACE_SCHEMA.empty_table()]
        for table in (*filter(tables.has, [QUARANTINE]), *self._with_records()):
            found = self.search.of(table, view_of(tables, table).files)
            parts += [rows.places for rows in found.values()]
        return pa.concat_tables(parts)

    def erase_placed(self, topic: str, records: RecordPlaces) -> None:
        """Erase the rows in other tables that come from records of a topic."""
        if not records.by_topic:
            return
        for table in self._made_of(topic):
            search = partial(self._search_places, topic, place_columns(table), records)
            self._note(change_rows(self.run, table, search))

    def erase_searched(self) -> None:
        """Erase the bytes of damaged batches, salvaged records, and rows of latest state."""
        if self.run.tables.has(QUARANTINE):
            search = partial(self._search_rows, QUARANTINE)
            self._note(change_rows(self.run, QUARANTINE, search, keeps_rows=True))
        for table in self._with_records():
            fences = [SALVAGE_APP if table == SALVAGED_RECORDS else FENCE_APP]
            search = partial(self._search_rows, table)
            self._note(change_rows(self.run, table, search, fences=fences))

    def _with_records(self) -> Iterator[Table]:
        """Yield the tables, except `records`, that have the columns of `records`."""
        if self.run.tables.has(SALVAGED_RECORDS):
            yield SALVAGED_RECORDS
        for latest in latest_tables(self.run.tables):
            if latest.topic in self.requested.salts:
                yield latest.table

    def _made_of(self, topic: str) -> Iterable[Table]:
        """Yield the existing tables whose rows come from a topic's records."""
        for table in LOG_TABLES.tables:
            if table.topics is not None and table.serves(topic) and self.run.tables.has(table):
                yield table
        for typed in typed_tables(self.run.tables):
            if typed.topic == topic:
                yield typed.table
        if self.run.tables.has(VALUE_REJECTS):
            yield VALUE_REJECTS

    def _note(self, done: ChangedTable) -> None:
        before = self.changed.get(done.table, ChangedTable(done.table))
        self.changed[done.table] = ChangedTable(
            done.table, before.rows + done.rows, (*before.files, *done.files)
        )

    def _search_places(
        self,
        topic: str,
        columns: PlaceColumns,
        records: RecordPlaces,
        files: Iterable[StoredFile],
    ) -> dict[str, Positions]:
        of_topic = [file for file in files if file.topic in (topic, None)]
        due = [file for file in of_topic if records.may_be_in(file, columns)]
        find = partial(find_placed, self.run.storage, columns, records)
        return self.run.of_files(find, due, "searching other tables")

    def _search_rows(self, table: Table, files: Iterable[StoredFile]) -> dict[str, Positions]:
        found = self.search.of(table, files)
        if table == QUARANTINE:
            self._damaged = found
        return {path: each.rows for path, each in found.items()}

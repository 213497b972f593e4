"""Where a stretch's rows go, batch by batch, in the order of its bytes: the port."""

from typing import Any, Protocol

import pyarrow as pa

from lake.tables import Table

Row = tuple[Any, ...]


class RowTarget(Protocol):
    """Takes rows; values of a tuple are in the order of its table's columns."""

    def records(self, rows: pa.RecordBatch) -> None:
        """Take rows of `records` without its topic; binary views and dictionaries among them."""

    def interpreted(self, table: Table, rows: pa.RecordBatch) -> None:
        """Take rows of a table that serves the topic alone."""

    def batch(self, row: Row) -> None:
        """Take a row of `batches`."""

    def quarantine(self, row: Row) -> None:
        """Take a row of `quarantine`."""

    def gap(self, row: Row) -> None:
        """Take a row of `gaps`."""

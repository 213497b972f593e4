"""`seglake erase` for the command line and the API."""

from typing import TYPE_CHECKING

from seglake.commands import RunOptions, scanning
from seglake.errors import WrongCallError
from seglake.settings.settings import Settings

if TYPE_CHECKING:
    from seglake.pipelines.lake_erase.erase_summary import EraseSummary
    from seglake.progress.progress_views import View


class EraseOptions(RunOptions, total=False):
    """Options of `erase`; one of `key`, `where` and `lift` must be given, and `topics`.

    Attributes:
        key: the key of the records, as bytes or as text, which means its UTF-8.
        where: SQL expression over columns of `records`.
        lift: label of an earlier erasure whose rules are removed; nothing is erased.
        reason: reason of the erasure, stored in clear text.
        drop_undecodable: also drop the bytes of damaged batches that cannot be searched.
        purge: delete the files of earlier versions at once.
    """

    key: bytes | str | None
    where: str | None
    lift: str | None
    reason: str | None
    drop_undecodable: bool
    purge: bool


def run_erase(
    lake: str, settings: Settings, options: EraseOptions, view: "View | None" = None
) -> "EraseSummary":
    """Run `erase` with complete settings, and return its summary."""
    from seglake.pipelines.lake_erase.erase import EraseChoice
    from seglake.pipelines.lake_erase.erase import erase as erased

    key = options.get("key")
    if key is not None and not key:
        raise WrongCallError("the key is empty: give its text or its bytes")
    choice = EraseChoice(
        key=key.encode() if isinstance(key, str) else key,
        where=options.get("where"),
        lift=options.get("lift"),
        reason=options.get("reason") or "",
        drop_undecodable=options.get("drop_undecodable", False),
        purges=options.get("purge", False),
    )
    with scanning(settings, options, view) as scan:
        return erased(lake, scan, choice=choice)

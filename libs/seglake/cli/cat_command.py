"""`seglake cat`: records of disks or of a lake, as lines on stdout."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seglake.cli.arguments import parser_of
from seglake.cli.command_run import run_command
from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.record_print.line_format import LineFormat
from seglake.printable import on_one_line
from seglake.settings.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from seglake.pipelines.record_print.record_choice import RecordChoice
    from seglake.pipelines.record_print.typed_parts import TypedParts

_MOST_ROWS = 8192  # most rows to format at once: more would need memory and save no time
_MOST_DECODED_BYTES = 4 << 20  # small enough that the first lines appear early


def main(argv: Sequence[str]) -> int:
    """Run `seglake cat`; exit with 3 on damage, with 0 if stdout is closed early."""
    return run_command("cat", _cat, argv)


class _NotePrinter:
    """Printer of notes on stderr that remembers whether a person should check one."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self.needs_a_look = False

    def damage(self, text: str) -> None:
        self.look(f"damage: {text}")

    def look(self, text: str) -> None:
        self.needs_a_look = True
        print(f"seglake: {on_one_line(text)}", file=sys.stderr)

    def note(self, text: str) -> None:
        if not self._is_quiet:
            print(f"seglake: {on_one_line(text)}", file=sys.stderr)


def _cat(arguments: argparse.Namespace, settings: Settings) -> int:
    line_format = LineFormat(arguments.line_format)
    given = {
        name: value
        for name in ("delimiter", "key_delimiter")
        if (value := getattr(arguments, name)) is not None
    }
    _check_delimiters(line_format, given)
    _check_typed(arguments, line_format)
    # Imported here, so that --help and wrong calls are answered at once.
    from seglake.pipelines.record_print.line_style import LineStyle
    from seglake.pipelines.record_print.record_choice import RecordChoice

    is_quiet = arguments.quiet > arguments.verbose
    printer = _NotePrinter(is_quiet=is_quiet)
    select = settings.select
    choice = RecordChoice(select.from_timestamp_ms, select.to_timestamp_ms, arguments.limit)
    if arguments.lake is not None:
        found = _of_lake(arguments, settings, choice, printer)
    else:
        if not is_quiet and sys.stderr.isatty():
            _hint_at_compilation(printer)
        found = _of_sources(arguments, settings, printer)
    typed = _typed_parts(arguments, settings) if arguments.typed else None
    style = LineStyle(line_format, **given, typed=typed)
    out, count = sys.stdout.buffer, 0
    for rows in choice.of(found):
        count += rows.num_rows
        for start in range(0, rows.num_rows, _MOST_ROWS):
            out.write(style.render(rows.slice(start, _MOST_ROWS)))
    if not count and arguments.limit != 0:
        printer.note("no record matches")
    if typed is not None:
        _report_undecoded(typed, printer)
    return ExitCode.LOOK if printer.needs_a_look else ExitCode.DONE


def _typed_parts(arguments: argparse.Namespace, settings: Settings) -> "TypedParts":
    """Return the decoder of keys and values for `--typed`, with its schemas."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.record_print.printed_schemas import (
        parts_of,
        registry_of_lake,
        registry_of_records,
    )

    storage, topic = open_storages(settings.spark.properties), arguments.registry
    if arguments.lake is not None:
        source_id = settings.source.source_id
        found = registry_of_lake(arguments.lake, storage, topic, source_id, arguments.schemas)
        return parts_of(found, settings)
    whole = argparse.Namespace(source=arguments.source, offsets=None, partition=[])
    select = replace(settings.select, topics=(topic,), from_timestamp=None, to_timestamp=None)
    # Skip the notes on these disks: they are about the registry's topic, not the printed records.
    silent = _NotePrinter(is_quiet=True)
    records = _of_sources(whole, replace(settings, select=select), silent)
    return parts_of(registry_of_records(records, topic, storage, arguments.schemas), settings)


def _report_undecoded(typed: "TypedParts", printer: _NotePrinter) -> None:
    """Report the keys and values that did not decode, and those without a schema."""
    for (topic, part, reason), count in sorted(typed.rejects.items()):
        printer.look(f"{topic}: {part}s that do not decode: {count} ({reason})")
    for topic, part in sorted(typed.untyped):
        printer.note(f"{topic}: no {part} has a schema of the registry; printed without decoding")


def _check_delimiters(line_format: LineFormat, given: dict[str, bytes]) -> None:
    if line_format is LineFormat.JSON and given:
        raise WrongCallError("a line of JSON is a record: delimiters are for --format value")
    if line_format is LineFormat.VALUE and "key_delimiter" in given:
        raise WrongCallError("--key-delimiter is for --format key-value")


def _check_typed(arguments: argparse.Namespace, line_format: LineFormat) -> None:
    if arguments.typed and line_format is not LineFormat.JSON:
        raise WrongCallError("--typed prints lines of JSON: it excludes other formats")
    if arguments.typed:
        return
    if arguments.schemas is not None:
        raise WrongCallError("--schemas is for --typed")
    if arguments.registry != parser_of("cat").get_default("registry"):
        raise WrongCallError("--registry is for --typed")


def _hint_at_compilation(printer: _NotePrinter) -> None:
    """Note that a first run compiles the decoder, if this is one."""
    from seglake.environment.compilation_hint import compilation_hint

    if hint := compilation_hint(os.environ)():
        printer.note(hint)


def _of_sources(
    arguments: argparse.Namespace, settings: Settings, printer: _NotePrinter
) -> "Iterator[pa.RecordBatch]":
    from seglake.environment.storages import open_storages
    from seglake.pipelines.record_print.line_style import COLUMNS
    from seglake.pipelines.segment_query.ordered_records import Reports, ordered_records
    from seglake.pipelines.segment_query.read_plan import Requested

    requested = Requested().with_offsets(*arguments.offsets or (None, None))
    if arguments.partition:
        requested = requested.with_partitions(arguments.partition)
    # Records are not in order of time: an older record may follow one above the limit.
    read, select = settings.read, replace(settings.select, to_timestamp=None)
    read = replace(read, decoded_bytes=min(read.decoded_bytes, _MOST_DECODED_BYTES))
    return ordered_records(
        arguments.source,
        open_storages(settings.spark.properties),
        replace(settings, select=select, read=read),
        requested,
        Reports(damage=printer.damage, note=printer.note, look=printer.look),
        columns=COLUMNS,
    )


def _of_lake(
    arguments: argparse.Namespace, settings: Settings, choice: "RecordChoice", printer: _NotePrinter
) -> "Iterator[pa.RecordBatch]":
    from seglake.environment.storages import open_storages
    from seglake.pipelines.record_print.lake_records import LakeChoice, lake_records

    first, stop = arguments.offsets or (0, None)
    requested = LakeChoice(
        partitions=frozenset(arguments.partition) or None, offsets=(first, stop), records=choice
    )
    storage = open_storages(settings.spark.properties)
    return lake_records(arguments.lake, storage, settings, requested, printer)

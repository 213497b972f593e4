"""docs/messages.md has what the product prints, except for what needs no row: nothing else.

`messages_without_rows.toml` has the texts without a row, by the reason why they need none.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import seglake
from seglake.findings.kinds import FindingKind
from seglake.proof.queries import queries
from seglake.segment_codec.formats.errors import DefectCode, TailKind
from support.product_texts import sentences

_PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
_WITHOUT_ROWS = Path(__file__).with_name("messages_without_rows.toml")
_RULE = "**A line without a row says all itself.**"
_FIRST_CELL = re.compile(r"^\| (`.+?`) \|", re.MULTILINE)
_ROW = re.compile(r"^\| `[^|]+\|[^|]*\|[^|]*\|$", re.MULTILINE)
_ELLIPSIS = "…"
_EDGES = " :;,.()\n"
_FEWEST_LETTERS = 12

_SAID_ELSEWHERE = {
    "segment_codec/": "details of a defect, behind its code: the page has the codes",
    "cli/option_values.py": "how an option is written, in the words of --help",
    "cli/completion_command.py": "--help, as shells show it",
    "cli/main.py": "--help",
    "lake/latest_tables.py": "names of columns",
    "lake/tables.py": "names of columns",
    "log_tables/internal_columns.py": "names of columns",
    "run_records/metrics_file.py": "docs/operations.md",
    "findings/kinds.py": "the page says the same: tests/docs/test_findings_page.py",
    "pipelines/lake_report/published.py": "SQL",
    "pipelines/lake_query/duckdb_script.py": "SQL",
    "lake/duckdb_sql.py": "SQL",
    "pipelines/lake_audit/lake_proof.py": "SQL; what it says is in proof.sql",
    "proof/engines.py": "SQL",
    "proof/queries.py": "SQL",
    "pipelines/lake_query/duckdb_text.py": "SQL",
    "pipelines/lake_query/lake_names.py": "SQL",
    "pipelines/lake_query/scripts.py": "SQL",
    "pipelines/lake_erase/condition_sql.py": "SQL",
    "pipelines/lake_latest/latest_commit.py": "SQL",
    "pipelines/lake_latest/latest_rows.py": "SQL",
    "pipelines/lake_query/views.py": "SQL",
    "value_codec/connect/debezium.py": "SQL",
}

_SQL_ERROR = re.compile(r"\berror\('([^']+)'\)")
_NAMES = re.compile(r"[a-z0-9 ]*[_.][a-z0-9_. ]+")  # of columns
_NOT_SAID = (
    # Errors of others, by which they are known.
    "An error occurred while calling",
    "Can't get attribute ",
    "Cannot run program ",
    "Connection timed out",
    "Network is unreachable",
    "No NameNode hosts",
    "No route to host",
    "No viewfs fallback",
    "Path is not a file",
    "SparkContext (has been|was) shut ?down",
    "Traceback (most recent call last):",
    "failed to lookup address",
    "incorrectly configured region",
    # Formats of tqdm.
    "{desc}",
    # Files that are written, and arguments of other programs.
    "#!/bin/sh",
    "-Dlog4j2.",
    "<dependency ",
    "<ivy-module ",
    "annotations 6f36bd87155d1dd8",
    "DESCRIBE TABLE EXTENDED ",
    "SHOW TABLES IN ",
    "SHOW TBLPROPERTIES ",
)


def _quoted() -> list[str]:
    """What the first cells quote; a cell may have several."""
    cells = _FIRST_CELL.findall(_PAGE.read_text("utf-8"))
    return [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]


def _without_rows() -> dict[str, Any]:
    return tomllib.loads(_WITHOUT_ROWS.read_text("utf-8"))


def _unquoted() -> list[str]:
    """What has no row: lines that need none, and parts of lines that have one."""
    texts = _without_rows()
    parts = texts.pop("parts")
    return [text for group in (*texts.values(), *parts.values()) for text in group]


def _parts(text: str) -> list[str]:
    return [part for piece in text.split(_ELLIPSIS) if (part := piece.strip(_EDGES))]


def _stand_in(parts: list[str], text: str) -> bool:
    """Whether the parts come in the text, one after the other."""
    position = 0
    for part in parts:
        position = text.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


def _is_quoted(text: str, quoted: list[str]) -> bool:
    parts = _parts(text)
    return any(
        _stand_in(parts, quote)
        or (len("".join(_parts(quote))) >= _FEWEST_LETTERS and _stand_in(_parts(quote), text))
        for quote in quoted
    )


@pytest.fixture(scope="module")
def product_texts() -> list[str]:
    texts = (text for _, _, text in sentences(without=(), fewest_words=1))
    return [*texts, *_errors_in_sql(), *_proof_texts()]


def _errors_in_sql() -> list[str]:
    files = Path(seglake.__file__).parent.rglob("*.sql")
    return [text for file in files for text in _SQL_ERROR.findall(file.read_text("utf-8"))]


def _proof_texts() -> list[str]:
    """What the proof says, with an ellipsis for each value."""
    literal = re.compile(r"'((?:[^']|'')*)'")
    said = [query.sql.split("concat(")[1:] for query in queries()]
    return [_ELLIPSIS.join(literal.findall(part)) for parts in said for part in parts]


def test_the_page_quotes_messages() -> None:
    assert len(_quoted()) > 100


def test_quoted_messages_are_those_of_the_product(product_texts: list[str]) -> None:
    """What the page has as an ellipsis is a value, or what a label stands before."""
    said = "\n".join([*product_texts, *(kind.label for kind in FindingKind)])
    quotes = [*_quoted(), *_unquoted()]
    unsaid = [(quote, part) for quote in quotes for part in _parts(quote) if part not in said]
    assert unsaid == []


def test_every_message_of_the_product_has_a_row_or_a_reason_to_have_none() -> None:
    quoted = [*_quoted(), *_unquoted()]
    silent = [
        f"{module}:{line}: {text}"
        for module, line, text in sentences(without=tuple(_SAID_ELSEWHERE))
        if not text.startswith(_NOT_SAID)
        and not _NAMES.fullmatch(text)
        and not _is_quoted(text, quoted)
    ]
    assert silent == []
    assert [text for text in _errors_in_sql() if not _is_quoted(text, quoted)] == []


def test_the_page_says_that_a_line_without_a_row_says_all_itself() -> None:
    assert _RULE in _PAGE.read_text("utf-8")


def test_parts_without_a_row_belong_to_lines_that_have_one() -> None:
    assert [line for line in _without_rows()["parts"] if line not in _quoted()] == []


def test_no_text_has_a_row_and_a_reason_to_have_none() -> None:
    texts = _without_rows()
    del texts["parts"]
    assert set(_quoted()) & {text for group in texts.values() for text in group} == set()


@pytest.mark.parametrize("name", [*DefectCode, *TailKind])
def test_every_defect_is_on_the_page(name: str) -> None:
    assert name in _quoted()

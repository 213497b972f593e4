"""docs/messages.md quotes what the product prints."""

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "messages.md"
_QUOTED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def _quoted() -> list[str]:
    return _QUOTED.findall(_PAGE.read_text("utf-8"))


@pytest.fixture(scope="module")
def texts() -> str:
    """Every literal text of the product; of a formatted one, the parts between its values."""
    return "\n".join(
        node.value
        for path in sorted((_ROOT / "libs" / "seglake").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_the_page_quotes_messages() -> None:
    assert len(_quoted()) > 100


@pytest.mark.parametrize("message", _quoted())
def test_quoted_message_is_one_of_the_product(message: str, texts: str) -> None:
    """What the page has as an ellipsis is a value, or what a label stands before."""
    parts = (part.strip(" :;,.") for part in message.split("…"))
    assert [part for part in parts if part not in texts] == []

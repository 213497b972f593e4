"""The benchmark of values writes its figures where the page says."""

from bench.bench_values import COMMAND, table
from bench.machine import PAGE, updated


def test_the_page_has_the_part_that_the_command_writes() -> None:
    page = PAGE.read_text("utf-8")
    text = table({"seglake": 2e6, "another way": 1e6}, 1000, 50.4)
    assert "| another way | 1.000 | 2.0 |" in text
    assert text in updated(page, text, COMMAND)
    assert page.count(f"<!-- {COMMAND} writes this -->") == 1

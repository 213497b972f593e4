"""The benchmark of values writes its figures where the page says."""

from bench.bench_values import COMMAND, table
from bench.machine import PAGE, updated


def test_the_page_has_the_part_that_the_command_writes() -> None:
    page = PAGE.read_text("utf-8")
    rates = {("Avro", "seglake"): 2e6, ("Avro", "another way"): 1e6, ("JSON", "seglake"): 4e6}
    text = table(rates, 1000, {"Avro": 50.4, "JSON": 150})
    assert "| Avro | another way | 1.000 | 2.0 |" in text
    assert "| JSON | seglake | 4.000 | 1.0 |" in text
    assert "50 in Avro, 150 in JSON" in text
    assert text in updated(page, text, COMMAND)
    assert page.count(f"<!-- {COMMAND} writes this -->") == 1

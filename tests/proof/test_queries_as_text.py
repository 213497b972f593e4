"""The proof as text: which queries a check needs, and the form that each engine runs."""

import pytest

from seglake.proof.queries import Dialect, Purpose, queries, script, typed_places, with_derived


@pytest.mark.parametrize("name", ["unknown_kind", "overlap", "totals"])
def test_a_query_comes_after_the_derived_tables_that_it_needs_and_no_others(name: str) -> None:
    by_name = {query.name: query for query in queries()}
    derived = {query.name for query in queries() if query.purpose is Purpose.DERIVE}
    needed, new = set[str](), {name}
    while new:
        texts = [by_name[each].sql for each in new]
        new = {each for each in derived for text in texts if each in text.split()} - needed - {name}
        needed |= new
    found = [query.name for query in with_derived([by_name[name]])]
    assert (found[-1], {*found[:-1]}) == (name, needed)
    assert found == [each for each in by_name if each in found]


def test_without_typed_tables_there_are_no_places_of_typed_rows() -> None:
    assert typed_places({}).endswith("FROM value_rejects WHERE false")
    assert typed_places({"typed_orders": "'orders'"}).endswith("FROM typed_orders")


def test_each_engine_keeps_derived_tables_in_its_own_way() -> None:
    made = "CREATE TABLE proof_ledger USING parquet AS"
    assert made in script(Dialect.SPARK)
    assert made not in script(Dialect.DUCKDB)
    assert "CREATE OR REPLACE TEMPORARY TABLE proof_ledger AS" in script(Dialect.DUCKDB)

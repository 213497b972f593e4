"""Names of columns are legal for every reader, and no two are the same for one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.value_codec.column_names import ColumnNames


@pytest.mark.parametrize("char", [*' ,;{}()\n\t=.`"', "\x00", "\x7f", "\x85", "\ud800"])
def test_what_a_reader_refuses_becomes_an_underscore(char: str) -> None:
    assert ColumnNames().add(f"a{char}b") == "a_b"


@pytest.mark.parametrize("name", ["a", "A_1", "user-agent", "$ref", "größe", "名前", "@type", "é"])
def test_other_names_stay(name: str) -> None:
    assert ColumnNames().add(name) == name


def test_names_that_differ_in_case_or_in_illegal_characters_only_are_numbered() -> None:
    names = ColumnNames(reserved=["_Offset"])
    found = [names.add(name) for name in ("a b", "a.b", "A_B", "a_b_2", "", "_", "_offset")]
    assert found == ["a_b", "a_b_2", "A_B_3", "a_b_2_2", "_", "__2", "_offset_2"]


def test_letters_that_are_one_without_case_are_one_name() -> None:
    names = ColumnNames()
    assert [names.add(name) for name in ("straße", "STRASSE")] == ["straße", "STRASSE_2"]


@given(st.lists(st.text(max_size=4)))
def test_all_names_are_legal_and_apart_and_do_not_depend_on_later_ones(found: list[str]) -> None:
    names = ColumnNames()
    legal = [names.add(name) for name in found]
    assert len({name.casefold() for name in legal}) == len(legal)
    assert not set(' ,;{}()\n\t=.`"') & set("".join(legal))
    assert all(legal)
    again = ColumnNames()
    assert [again.add(name) for name in found[:2]] == legal[:2]

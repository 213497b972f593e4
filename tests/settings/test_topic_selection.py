"""A glob that selects nothing is named; a call that selects nothing is wrong."""

import pytest

from seglake.settings.settings import SelectSettings
from seglake.settings.topic_selection import (
    NothingSelectedError,
    check_selection,
    unmatched_globs,
)

_TOPICS = ("__consumer_offsets", "orders", "orders.eu", "payments")


def _notes(*globs: str, internal: bool = False, topics: tuple[str, ...] = _TOPICS) -> list[str]:
    """All that is said of the globs; of topics that are named in full first."""
    select = SelectSettings(topics=globs, internal_topics=internal)
    missing, notes = check_selection(topics, select, place="sources")
    return [*missing.values(), *notes]


@pytest.mark.parametrize(
    ("globs", "internal", "notes"),
    [
        ((), False, []),
        (("ord*", "!*.eu"), False, []),
        (("orders", "!__consumer_offsets"), False, []),  # there, though never selected
        (("__con*", "orders"), True, []),
        (
            ("orders", "paymnets"),
            False,
            ["paymnets selects no topic of the sources; did you mean payments?"],
        ),
        (
            ("orders", "orders.eu,payments"),
            False,
            [
                "orders.eu,payments selects no topic of the sources; give each glob separately",
            ],
        ),
        (("orders", "stock*"), False, ["stock* selects no topic of the sources"]),
        (
            ("*offsets", "orders"),
            False,
            ["*offsets selects no topic of the sources; it matches internal topics"],
        ),
        (("!test-*",), False, ["!test-* excludes no topic of the sources"]),
        (
            ("payments", "orders*", "!ord*", "!x"),
            False,
            [
                "orders* selects no topic of the sources: all topics that it matches are excluded",
                "!x excludes no topic of the sources",
            ],
        ),
    ],
)
def test_each_glob_that_selects_nothing_is_named_beside_one_that_does(
    globs: tuple[str, ...], internal: bool, notes: list[str]
) -> None:
    assert _notes(*globs, internal=internal) == notes


@pytest.mark.parametrize(
    ("globs", "said"),
    [
        (("ordrs",), "is selected by ordrs (did you mean orders?). There are orders,"),
        (("ordr*", "nosuch"), "by ordr* (did you mean orders?), nosuch. There are"),
        (("orders,payments",), "orders,payments (give each glob separately). There"),
        (("!*",), "is selected by !*. There are orders, orders.eu, payments"),
        (("orders", "!ord*"), "is selected by orders, !ord*. There are"),
        (("*offsets",), "is selected by *offsets. There are orders, orders.eu, payments"),
    ],
)
def test_globs_that_select_nothing_of_what_is_there_are_a_wrong_call(
    globs: tuple[str, ...], said: str
) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        _notes(*globs)
    assert str(caught.value).startswith("no topic of the sources ")
    assert said in str(caught.value)


def test_of_many_topics_a_few_are_named() -> None:
    with pytest.raises(NothingSelectedError, match=r"There are t0, t1, t2, t3, t4 and 3 more$"):
        _notes("nosuch", topics=tuple(f"t{number}" for number in range(8)))


@pytest.mark.parametrize("topics", [(), ("__consumer_offsets",)])
def test_where_no_topic_is_yet_none_is_missed(topics: tuple[str, ...]) -> None:
    assert _notes("orders", topics=topics) == []


def test_what_is_missed_in_folders_that_cannot_be_listed_is_only_noted() -> None:
    select = SelectSettings(topics=("refunds",))
    found = unmatched_globs(_TOPICS, select, place="sources")
    assert found == ({"refunds": "refunds selects no topic of the sources"}, [])


@pytest.mark.parametrize("name", ["paymnets", "orders.e", "orders,payments"])
def test_a_name_without_wildcards_that_is_not_there_is_missing(name: str) -> None:
    select = SelectSettings(topics=("orders", name, "x*", "[x]", "x?", "!x"))
    missing, notes = check_selection(_TOPICS, select, place="lake")
    assert (list(missing), len(notes)) == ([name], 4)

"""Names of topics' views: each can mean one topic only, whatever topics come later."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.topic_views import OF_TOPICS
from seglake.pipelines.lake_query.views import view_names

_LIKE = ["orders", "Orders", "ORDERS", "pay_ments", "pay.ments", "pay-ments", "Pay.ments"]


def _by_name(*topics: str) -> dict[str, str]:
    """Names as engines compare them."""
    return {name.casefold(): topic for name, topic in OF_TOPICS.views(topics).items()}


def test_topics_that_no_other_is_like_have_their_own_names() -> None:
    assert OF_TOPICS.views(
        ["orders", "select", "2024-01-05", "..a", "My.orders-EU", "topic_x"]
    ) == {
        "topic_My_orders_EU": "My.orders-EU",
        "topic_2024_01_05": "2024-01-05",
        "topic___a": "..a",
        "topic_orders": "orders",
        "topic_select": "select",
        "topic_topic_x": "topic_x",
    }


def test_topics_of_one_name_have_marks_that_are_their_own() -> None:
    found = _by_name(*_LIKE)
    assert sorted(found.values()) == sorted(_LIKE)
    assert "topic_orders" not in found
    assert "topic_pay_ments" not in found
    assert OF_TOPICS.confused(_LIKE)["topic_orders"] == ["ORDERS", "Orders", "orders"]
    assert OF_TOPICS.confusion("TOPIC_orders", ["orders", "Orders"]) == (
        "TOPIC_orders could be the topic Orders or orders, which SQL does not distinguish: query"
        " topic_Orders_b7e8acdd for Orders, topic_orders_1c168adb for orders"
    )
    assert OF_TOPICS.confusion("topic_orders", ["orders"]) is None


_MARKED = ["a.b", "a_b", "a_b_2e7336dc", "a-b-2e7336dc", "A_b_648fa9b3"]  # a.b and a_b, marked


@given(st.permutations([*_MARKED, "a-b", "A_B", "orders", "Orders", "x" * 249, "X" * 249]))
def test_a_topic_that_comes_later_takes_no_name_of_another(topics: list[str]) -> None:
    meant: dict[str, str] = {}
    for lake in accumulate([topic] for topic in topics):
        views = _by_name(*lake)
        exact = {f"topic_{topic}": topic for topic in lake}
        for name, topic in views.items():
            assert meant.setdefault(name, topic) == topic
        for name, topic in exact.items():
            assert views.get(name.casefold(), topic) == topic


def test_a_name_fits_into_a_metastore() -> None:
    longest = ["x" * 249, "x" * 248 + "y", "z" * 255, "Z" * 255]
    names = OF_TOPICS.views(longest)
    assert sorted(names.values()) == sorted(longest)
    assert max(map(len, names)) == 255


def test_no_table_or_other_view_has_a_name_that_a_topic_may_have() -> None:
    names = [*(table.name for table in TABLES), *view_names()]
    assert {name for name in names if name.startswith("topic_")} == OF_TOPICS.reserved


def test_topics_that_are_called_like_a_view_have_marks() -> None:
    for topic in ("configs", "Configs"):
        ((name, found),) = OF_TOPICS.views([topic]).items()
        assert found == topic
        assert name.startswith(f"topic_{topic}_")

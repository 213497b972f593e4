"""A name that does not exist leads to those that are spelled like it."""

import pytest

from seglake.near_names import did_you_mean, near_names

_TOPICS = ("orders", "orders.eu", "Payments", "payments-v2", "refunds")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ordrs", ["orders"]),  # orders.eu is so much less alike that it is not meant
        ("PAYMENTS", ["Payments"]),
        ("payment-v", ["payments-v2", "Payments"]),
        ("inventory", []),
        ("", []),
    ],
)
def test_names_that_are_spelled_like_it_come_nearest_first(name: str, near: list[str]) -> None:
    assert near_names(name, _TOPICS) == near


def test_a_message_names_them_or_says_nothing() -> None:
    assert did_you_mean("refund", _TOPICS) == "; did you mean refunds?"
    assert did_you_mean("a-1", ("a-2", "b-1")) == "; did you mean a-2 or b-1?"
    assert did_you_mean("a-1", ("a-5", "a-4", "a-3", "a-2")) == "; did you mean a-2, a-3 or a-4?"
    assert did_you_mean("inventory", _TOPICS) == ""

"""Random values, sound and damaged, are what other libraries read; `make value-pairs` has more."""

import random

import pytest

from support.value_campaign.avro_pairs import avro_pairs
from support.value_campaign.json_pairs import json_pairs
from support.value_campaign.protobuf_pairs import protobuf_pairs


@pytest.mark.parametrize("pairs", [avro_pairs, json_pairs, protobuf_pairs])
def test_columns_say_what_another_library_reads_or_both_refuse(pairs: object) -> None:
    assert callable(pairs)
    found = [text for seed in range(15) for text in pairs(random.Random(seed))]
    assert len(found) > 500
    assert [text for text in found if text] == []

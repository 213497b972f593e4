"""Texts as codes."""

import pyarrow as pa
import pytest

from seglake.pipelines.lake_audit.texts import text_values


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_codes_lead_to_the_texts_of_all_chunks_and_null_has_one_too(kind: pa.DataType) -> None:
    texts = ["a", None, "b", "a", "c", None]
    chunks = [pa.array(texts[:3], pa.string()), pa.array(texts[3:], pa.string())]
    rows = pa.table({"topic": pa.chunked_array([chunk.cast(kind) for chunk in chunks])})
    values, codes = text_values(rows, "topic")
    assert [values[code] for code in codes] == texts
    assert values[-1] is None

"""Each reader of docs/query.md, run as the page shows it, and its answers likened."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from support.query_answers import Answers, likened
from support.query_page import blocks, questions, ran

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Any: frames and relations of libraries that this package does not import.
_CAUSES = ("compacted", "deleted", "remote", "quarantined", "missing")


def by_views(session: "SparkSession", lake: str, topic: str | None = None) -> Answers:
    """What `seglake sql --json` prints."""
    # Imported here: the other readers need no Spark.
    from support.spark_answers import query

    answers = []
    for question in _of_topic(questions(), topic):
        out = io.StringIO()
        query(session, lake, question, as_json=True, out=out)
        answers.append(likened(map(json.loads, out.getvalue().splitlines())))
    return Answers(*answers)


def by_pyspark() -> Answers:
    """In the session of the tests, which has the JARs and needs none fetched."""
    names: Mapping[str, Any] = ran(blocks("PySpark", "python"))
    return Answers(*(likened(names[name].toArrow().to_pylist()) for name in Answers._fields))


def by_polars(topic: str | None = None) -> Answers:
    """`topic` takes the place of the page's own."""
    names: Mapping[str, Any] = ran(_of_topic(blocks("Polars", "python"), topic))
    picked = names["last_offsets"].select("topic", "partition", "next_offset")
    frames = (picked, *(names[name] for name in Answers._fields[1:]))
    return Answers(*(likened(frame.to_dicts()) for frame in frames))


def by_duckdb(*, offline: bool = True, topic: str | None = None) -> Answers:
    """With the extension from its package, or as DuckDB installs it."""
    install, load, *rest = blocks("DuckDB", "python")
    names: Mapping[str, Any] = ran([load if offline else install, *rest])
    questions = _of_topic(names["questions"], topic)
    return Answers(*(_of_relation(names["con"].sql(question)) for question in questions))


def by_deltalake(topic: str | None = None) -> Answers:
    """What the page has as dictionaries, made rows."""
    names: Mapping[str, Any] = ran(_of_topic(blocks("deltalake", "python"), topic))
    reached = [
        {"topic": log[0], "partition": log[1], "next_offset": names["last_offsets"].get(log)}
        for log in names["completeness"]
    ]
    damage = [
        {**dict(zip(names["COLUMNS"], place, strict=True)), "resolution": resolution}
        for place, resolution in sorted(names["quarantined"].items())
    ]
    sums = [
        {"topic": log[0], "partition": log[1], **dict.fromkeys(_CAUSES, 0), **row}
        for log, row in names["completeness"].items()
    ]
    latest = sorted(names["latest"], key=lambda row: (row["partition"], row["offset"]))
    shown = [
        {
            "partition": row["partition"],
            "key_text": names["text"](row["key"]),
            "value_text": names["text"](row["value"]),
            "offset": row["offset"],
            "timestamp": row["timestamp"],
        }
        for row in latest
    ]
    return Answers(*map(likened, (reached, names["records"], damage, sums, shown)))


def _of_topic(sources: Sequence[str], topic: str | None) -> list[str]:
    return [source if topic is None else source.replace("v2-zstd", topic) for source in sources]


def _of_relation(relation: Any) -> list[dict[str, object]]:
    rows = (dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall())
    return likened(rows)

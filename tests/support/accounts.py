"""Checks that a lake adds up: the contract's equation and the ledger's sums, from the tables.

In SQL by another engine, so that nothing of it is shared with the code under test.
"""

from pathlib import Path
from typing import NamedTuple

from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, QUARANTINE, RECORDS
from support.asked import over

_TABLES = (RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS)
_KEYS = "source_id, topic, partition"

# What a row of the ledger stands for; the rows of other tables are told by their commit.
_RANGES = """
create or replace temp table ranges as
select row_number() over () as id, * from checkpoints where kind in ('ingest', 'repair', 'retake')
"""
# An election takes offsets away from what was committed before it was found.
_IS_LOST = """exists (select 1 from checkpoints lost where lost.kind = 'superseded'
    and lost.source_id = {row}.source_id and lost.topic = {row}.topic
    and lost.partition = {row}.partition and lost.topic_id is not distinct from {row}.topic_id
    and {offset} >= lost.start_offset and {offset} < lost.next_offset
    and {row}.generation < lost.generation)"""
_LOST_RECORD = _IS_LOST.format(row="r", offset='r."offset"')
_LOST_BATCH = _IS_LOST.format(row="b", offset="b.base_offset")
# A gap stands until a later repair, or an election against it, holds its start.
_CURRENT = """
create or replace temp table current as
with dated as (
    select g.*, max(l.generation) filter (l.attempt_id = g.attempt_id) as own,
        max(l.generation) filter (l.kind in ('repair', 'superseded')) as repaired
    from gaps g join checkpoints l using (source_id, topic, partition)
    where g.topic_id is not distinct from l.topic_id
        and l.start_offset <= g.start_offset and g.start_offset < l.next_offset
    group by all)
select * from dated where repaired is null or repaired <= own
"""
# Damage of what was read, each once; what a losing copy holds belongs to no range.
_DAMAGE = """
create or replace temp table damage as select * from quarantine
where resolution is null and defect_code <> 'replica_conflict'
"""
_OWN_RECORDS = """
create or replace temp table own_records as
select l.id, count(*) as records, sum(r."offset") as offset_sum,
    sum(coalesce(octet_length(r.key), 0)) as key_bytes,
    sum(coalesce(octet_length(r.value), 0)) as value_bytes,
    min(r.timestamp_ms) filter (r.timestamp_ms <> -1) as min_ms,
    max(r.timestamp_ms) filter (r.timestamp_ms <> -1) as max_ms
from ranges l join records r using (source_id, topic, partition)
where l.topic_id is not distinct from r.topic_id
    and r."offset" >= l.start_offset and r."offset" < l.next_offset
    and r.generation = l.generation
group by l.id
"""
_OWN_BATCHES = """
create or replace temp table own_batches as
with clipped as (
    select l.id, b.*, least(b.last_offset + 1, l.next_offset)
        - greatest(b.base_offset, l.start_offset) as span
    from ranges l join batches b using (source_id, topic, partition)
    where l.topic_id is not distinct from b.topic_id
        and b.last_offset >= l.start_offset and b.base_offset < l.next_offset
        and b.generation = l.generation)
select id, count(*) as batches, sum(span) filter (state <> 'decoded') as other_spans,
    sum(span - row_count) filter (state = 'decoded') as lacking,
    sum(row_count) filter (state = 'decoded') as row_count, sum(size_bytes) as size_bytes
from clipped group by id
"""
_OWN_GAPS = """
create or replace temp table own_gaps as
select l.id, count(*) as gaps, sum(g.next_offset - g.start_offset) as span
from ranges l join gaps g using (source_id, topic, partition, attempt_id)
where l.topic_id is not distinct from g.topic_id
    and g.start_offset >= l.start_offset and g.next_offset <= l.next_offset
group by l.id
"""
_JOINED = """
create or replace temp table joined as
select l.*, coalesce(r.records, 0) as r_records, coalesce(r.offset_sum, 0) as r_offset_sum,
    coalesce(r.key_bytes, 0) as r_key_bytes, coalesce(r.value_bytes, 0) as r_value_bytes,
    r.min_ms, r.max_ms, coalesce(b.batches, 0) as b_batches,
    coalesce(b.other_spans, 0) as other_spans, coalesce(b.lacking, 0) as lacking,
    coalesce(b.row_count, 0) as b_row_count, coalesce(b.size_bytes, 0) as b_bytes,
    coalesce(g.gaps, 0) as g_gaps, coalesce(g.span, 0) as g_span
from ranges l left join own_records r using (id) left join own_batches b using (id)
    left join own_gaps g using (id)
"""
_ACCOUNTED = f"""
create or replace temp table accounted as
select source_id, topic_id, topic, partition, base_offset as a, last_offset + 1 as z
from batches b where not {_LOST_BATCH}
union all
select source_id, topic_id, topic, partition, start_offset, next_offset from current
"""

# Each finds rows only when something is wrong.
_CHECKS = {
    "covered is not records + other batches + what lacks + gaps": """
        select topic, partition, start_offset, next_offset, r_records, other_spans, lacking, g_span
        from joined
        where next_offset - start_offset <> r_records + other_spans + lacking + g_span""",
    "the ledger's counts and sums are not those of the tables": """
        select topic, partition, start_offset, records, r_records, batches, b_batches, offset_sum,
            r_offset_sum, key_bytes, r_key_bytes, value_bytes, r_value_bytes
        from joined
        where records <> r_records or batches <> b_batches or offset_sum <> r_offset_sum
            or key_bytes <> r_key_bytes or value_bytes <> r_value_bytes
            or min_timestamp_ms is distinct from min_ms
            or max_timestamp_ms is distinct from max_ms""",
    "the rows counted in batches are not in records": """
        select topic, partition, start_offset, r_records, b_row_count from joined
        where r_records <> b_row_count""",
    "a batch has not the records that it counts": f"""
        with counted as (select {_KEYS}, topic_id, batch_base_offset, generation, count(*) as n
            from records group by all)
        select b.topic, b.partition, b.base_offset, b.row_count, c.n
        from batches b full join counted c on b.source_id = c.source_id and b.topic = c.topic
            and b.partition = c.partition and b.topic_id is not distinct from c.topic_id
            and b.base_offset = c.batch_base_offset and b.generation = c.generation
        where coalesce(b.row_count, 0) <> coalesce(c.n, 0)""",
    "bytes of the ledger are not those of batches and quarantine": f"""
        with l as (select {_KEYS}, sum(bytes) as n, sum(quarantined_batches) as q from ranges
            group by all),
        b as (select {_KEYS}, sum(size_bytes) as n from batches group by all),
        q as (select {_KEYS}, sum(length_bytes) as n, count(*) as q from damage group by all)
        select l.topic, l.partition, l.n, b.n, q.n, l.q, q.q
        from l left join b using ({_KEYS}) left join q using ({_KEYS})
        where l.n <> coalesce(b.n, 0) + coalesce(q.n, 0) or l.q <> coalesce(q.q, 0)""",
    "ranges of the ledger overlap": """
        with cut as (select r.*, (select min(l.start_offset) from checkpoints l
                where l.kind = 'superseded' and l.generation > r.generation
                and l.source_id = r.source_id and l.topic = r.topic and l.partition = r.partition
                and l.topic_id is not distinct from r.topic_id) as lost_from
            from ranges r where r.kind <> 'repair' and r.start_offset < r.next_offset),
        kept as (select * replace (least(next_offset, lost_from) as next_offset) from cut
            where lost_from is null or start_offset < lost_from)
        select * from (select topic, partition, next_offset, lead(start_offset) over (
            partition by source_id, topic_id, topic, partition order by start_offset) as following
        from kept) where following < next_offset""",
    "batches or gaps overlap": """
        select * from (select topic, partition, a, z, lead(a) over (
            partition by source_id, topic_id, topic, partition order by a, z) as following
        from accounted) where following < z""",
    "an offset comes twice": f"""
        select {_KEYS}, topic_id, "offset", count(*) from records r where not {_LOST_RECORD}
        group by all having count(*) > 1""",
    "what the ledger says was lost is not what was": f"""
        select * from (select
            (select coalesce(sum(records), 0) from checkpoints where kind = 'superseded')
            - (select count(*) from records r where {_LOST_RECORD}) as r,
            (select coalesce(sum(batches), 0) from checkpoints where kind = 'superseded')
            - (select count(*) from batches b where {_LOST_BATCH}) as b)
        where r <> 0 or b <> 0""",
    "rows lie outside of the ledger": """
        select * from (select
            (select count(*) from records) - (select coalesce(sum(r_records), 0) from joined) as r,
            (select count(*) from batches) - (select coalesce(sum(b_batches), 0) from joined) as b,
            (select count(*) from gaps) - (select coalesce(sum(g_gaps), 0) from joined) as g)
        where r <> 0 or b <> 0 or g <> 0""",
}


class StandingGap(NamedTuple):
    """A gap that no later repair re-stated."""

    topic: str
    partition: int
    start_offset: int
    next_offset: int
    cause: str


def standing_gaps(lake: Path) -> list[StandingGap]:
    """The gaps of a lake as they stand now, sorted."""
    connection = over(lake, _TABLES)
    connection.execute(_CURRENT)
    columns = ", ".join(StandingGap._fields)
    rows = connection.execute(f"select {columns} from current").fetchall()
    return sorted(StandingGap(*row) for row in rows)


def imbalances_of(lake: Path) -> list[str]:
    """Return one line for each thing that does not add up in a lake; empty if all does."""
    connection = over(lake, _TABLES)
    lost = "select 1 from checkpoints where kind = 'superseded' limit 1"
    has_lost = connection.execute(lost).fetchone() is not None
    for view in (
        _RANGES,
        _CURRENT,
        _DAMAGE,
        _OWN_RECORDS,
        _OWN_BATCHES,
        _OWN_GAPS,
        _JOINED,
        _ACCOUNTED,
    ):
        connection.execute(_as_asked(view, has_lost=has_lost))
    return [
        f"{what}: {row}"
        for what, query in _CHECKS.items()
        for row in connection.execute(_as_asked(query, has_lost=has_lost)).fetchall()
    ]


def _as_asked(query: str, *, has_lost: bool) -> str:
    """Return the query without its search for lost rows, if no election took rows away."""
    if has_lost:
        return query
    return query.replace(_LOST_RECORD, "false").replace(_LOST_BATCH, "false")

"""Three made logs of two topics, of several segments each."""

from pathlib import Path

from support.made_logs import Made, made_records

EDGES = {
    ("orders", 0): [0, 40, 80, 120],
    ("orders", 1): [0, 25, 50],
    ("payments", 0): [0, 30, 90],
}


VALUE_BYTES = 1024


def all_records(value_bytes: int = VALUE_BYTES) -> list[Made]:
    ranges = {key: range(stops[-1]) for key, stops in EDGES.items()}
    return made_records(ranges, value_bytes=value_bytes)


def orders_segment(source: Path, base_offset: int) -> Path:
    return source / "orders-0" / f"{base_offset:020d}.log"

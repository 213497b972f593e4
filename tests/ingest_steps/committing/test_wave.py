"""Which ranges of a wave are committed."""

from pathlib import Path

from support.accounts import imbalances_of
from support.lakes import ingested_in_pieces
from support.meanwhile import Meanwhile, once
from support.taken import records_taken
from support.three_logs import all_records, orders_segment


def test_no_piece_of_a_partition_is_taken_where_another_cannot_be_read(
    source: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    engine = Meanwhile(once(orders_segment(source, 40).unlink))
    summary = ingested_in_pieces(
        source, lake, "read_uncommitted", split_bytes=1, wave_bytes=1 << 30, engine=engine
    )
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    others = [made for made in all_records() if made[:2] != ("orders", 0)]
    assert records_taken(lake) == others
    assert imbalances_of(lake) == []

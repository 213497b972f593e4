"""What a person is told of files that are recognised and not read."""

from seglake.findings.findings import Findings
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.unread_data import UnreadLog
from seglake.ingest_steps.report.unread_file_findings import (
    unread_file_findings,
)
from seglake.kafka_log.replica import UnreadSegment
from seglake.log_dirs.unread_files import UnreadFiles, UnreadKind
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from support.planned import KEY
from support.summaries import made_summary

_ARCHIVE = UnreadFiles("a-0", "/d", UnreadKind.ARCHIVE, 1, 2048, "a-0.tar")
_TIER = UnreadFiles("t-0", "/t/t-0", UnreadKind.TIER_OBJECT, 12, 4096, "0-x.log")
_RANGES = ((0, 5), (7, 9), (11, 12), (20, OFFSET_MAX))
_GZS = (UnreadSegment(0, "0.log.gz", 1000), UnreadSegment(7, "7.log.gz", 24))
_COMPRESSED = UnreadLog(KEY, "/d/orders-0", _RANGES, _GZS)


def test_each_kind_says_what_to_do_and_what_nothing_accounts_for_comes_first() -> None:
    entries = unread_file_findings([_ARCHIVE, _TIER], [_COMPRESSED], {"t-0"})
    lines = [
        line
        for line in made_summary(findings=entries).to_text().splitlines()
        if line.startswith("not read: ")
    ]
    assert lines == [
        "not read: a-0: 1 archive (2.0 KiB, a-0.tar) in /d: unpack into a log dir and give that as "
        "a source",
        "not read: t-0: 12 objects of a remote tier (4.0 KiB, 0-x.log, …) in /t/t-0: this "
        "layout of a tier is not read",
    ]


def test_what_no_gap_accounts_for_is_a_reason_to_look() -> None:
    def code(*files: UnreadFiles, known: str = "a-0") -> int:
        found = unread_file_findings(files, [], {known})
        return made_summary(findings=found).exit_code

    assert (code(), code(_ARCHIVE), code(_TIER), code(_TIER, known="t-0")) == (0, 3, 3, 0)


def test_a_log_with_compressed_segments_is_left_out() -> None:
    entries = unread_file_findings([_ARCHIVE], [_COMPRESSED], ())
    assert Findings(entries).reasons(FindingKind.LEFT_OUT) == {
        "orders-0": "orders-0: [0, 5), [7, 9), [11, 12) and 1 more range in 2 compressed segments "
        "(1.0 KiB, 0.log.gz, …) in /d/orders-0: decompress in place and run again"
    }
    unread = UnreadLog(KEY, "/d", _RANGES[3:], (UnreadSegment(20, "20.log.gz", 1),))
    (last,) = unread_file_findings([], [unread], ())
    assert last.text.startswith("orders-0: [20, …) in 1 compressed segment (1 B, 20.log.gz) in /d:")

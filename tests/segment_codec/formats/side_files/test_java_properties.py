"""Java's properties format, as meta.properties is written in it."""

import pytest

from seglake.segment_codec.formats.side_files.checkpoint_files import parse_meta_properties


@pytest.mark.parametrize(
    "line",
    [
        b"cluster.id=a=b:c",
        b"cluster.id = a=b:c",
        b"cluster.id:a=b:c",
        b"cluster.id a=b:c",
        b"\t cluster.id\t:\fa=b:c",
        b"cluster\\.id=a\\=b\\:c",
        b"cluster.id=\\u0061=b\\u003Ac",
        b"cluster.id=a=\\\n   b:c",
        b"cluster.id\\\n=a=b:c\\",
        b"!cluster.id=x\\\n #cluster.id=x\\\ncluster.id=a=b:c",
        b"cluster.id=x\ncluster.id=a=b:c",
        b"cluster.id=a=b:c  ",
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_properties_are_read_as_java_reads_them(line: bytes, line_end: bytes) -> None:
    text = b"version=0\n" + line + b"\nbroker.id=7\n"
    if line.endswith(b"\\"):
        text = line + b"\n\n"
    found = parse_meta_properties(text.replace(b"\n", line_end))
    assert found.cluster_id == "a=b:c"
    assert found.broker_id == (None if line.endswith(b"\\") else 7)


@pytest.mark.parametrize(
    ("escaped", "value"),
    [
        (rb"a\\b", "a\\b"),
        (b"a\\\\\nversion=0", "a\\"),
        (b"a\\\n  #b", "a#b"),
        (rb"a\tb\nc\rd\fe", "a\tb\nc\rd\fe"),
        (rb"\q", "q"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d!", "\ufffd!"),
        (b"\xe9\x85x", "\xe9\x85x"),
    ],
)
def test_escapes_in_properties_are_undone(escaped: bytes, value: str) -> None:
    assert parse_meta_properties(b"cluster.id=" + escaped + b"\n").cluster_id == value

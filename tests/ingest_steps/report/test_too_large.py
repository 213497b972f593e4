"""What a summary says of batches that were not decoded because of their size."""

from seglake.findings.advised_commands import HIGHEST_LIMIT
from seglake.ingest_steps.report.too_large import too_large
from seglake.settings.settings import MOST_DECOMPRESSED_BATCH_BYTES, Settings


def test_no_command_is_promised_at_the_highest_limit() -> None:
    defects = {"decompression_limit": 2, "crc_mismatch": 1}
    (found,) = too_large(defects, MOST_DECOMPRESSED_BATCH_BYTES, "lake", ["disk"])
    assert found.text == (
        "2 batches above limits.max_decompressed_batch_bytes (1.0 GiB), which is the highest "
        "possible limit"
    )
    assert [*too_large({"crc_mismatch": 1}, 1 << 20, "lake", [])] == []


def test_command_has_each_log_dir_and_is_quoted_for_a_shell() -> None:
    (found,) = too_large({"decompression_limit": 1}, 1 << 20, "my lake", ["d0", "d 1"])
    assert found.text.endswith(
        "; to decode batches up to 1.0 GiB, run: seglake replay --lake 'my lake' "
        "--source d0 --source 'd 1' --engine local --set limits.max_decompressed_batch_bytes=1GiB"
    )
    (found,) = too_large({"decompression_limit": 2}, 1 << 20, "lake", [])
    assert "; to decode batches up to 1.0 GiB, run: seglake replay" in found.text


def test_highest_limit_is_the_highest_that_the_settings_take() -> None:
    limits = {"limits": {"max_decompressed_batch_bytes": HIGHEST_LIMIT}}
    taken = Settings.from_mappings([("test", limits)]).limits.max_decompressed_batch_bytes
    assert taken == MOST_DECOMPRESSED_BATCH_BYTES

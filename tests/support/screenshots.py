"""`make screenshots`: the pictures of docs/report.md, of the samples and of a made-up wide lake.

Effect: writes them.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize

from seglake.cli.main import main
from support.browser import OpenPage, started
from support.wide_lake import write_wide_lake

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_PARTITIONS = 10_000
_TALL = ViewportSize(width=1040, height=1040)
_SIZE = ViewportSize(width=1040, height=820)


def take(folder: Path) -> None:
    """All of them; `folder` is for what they are made of."""
    small, wide = folder / "small.html", folder / "wide.html"
    source, lake = str(_ROOT / "samples" / "broker-0"), str(folder / "lake")
    ingest = ["ingest", "--source", source, "--lake", lake, "--engine", "local"]
    main([*ingest, "--report", str(small)])
    write_wide_lake(folder / "cluster", _PARTITIONS)
    main(["report", "--lake", str(folder / "cluster"), "--output", str(wide)])
    with started() as browser:
        light = OpenPage(browser, small, _TALL).page
        light.screenshot(path=_DOCS / "report-light.png")
        light.locator(".row").first.click()
        light.screenshot(path=_DOCS / "report-partition.png")
        dark = OpenPage(browser, wide, _SIZE, "dark").page
        dark.locator(".show").nth(1).click()
        dark.locator("#shown").select_option("level-2")
        dark.locator("#order").select_option("name")
        dark.screenshot(path=_DOCS / "report-wide-dark.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        take(Path(made))

"""`make screenshots`: the pictures of the docs, of the samples and of made-up data.

Writes them.
"""

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize

from bench.workloads import W1, written
from seglake.cli.main import main
from support.browser import OpenPage, started
from support.terminal import Terminal
from support.terminal_pictures import page_of
from support.wide_lake import write_wide_lake

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_PARTITIONS = 10_000
_TALL = ViewportSize(width=1040, height=1040)
_SIZE = ViewportSize(width=1040, height=820)
_SEGLAKE = [sys.executable, "-m", "seglake"]
_COLUMNS, _ROWS = 110, 40
_FRAMES = 4  # of the progress, two a second: some way into the decoding
_QUESTIONS = (
    "SELECT topic, count(*) AS records FROM records GROUP BY topic ORDER BY topic LIMIT 3;",
    "SELECT topic, partition, start_offset, next_offset, cause FROM gap;",
    "SELECT topic, partition, start_offset, next_offset, cause FROM current_gaps;",
)


def take(folder: Path) -> None:
    """All of them; they are made in `folder`, which is the current one."""
    small, wide = folder / "small.html", folder / "wide.html"
    source = str(_ROOT / "samples" / "broker-0")
    ingest = ["ingest", "--source", source, "--lake", "lake", "--engine", "local"]
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
        _take_progress(browser, written(W1.scaled(0.5), folder))
        _take_prompt(browser)


def _take_progress(browser: Browser, source: Path) -> None:
    settings = ["--engine", "local", "--set", "limits.local_processes=1"]
    command = [*_SEGLAKE, "ingest", "--source", str(source), "--lake", "big", *settings]
    with closing(Terminal(command, {"TERM": "xterm"}, columns=_COLUMNS, rows=_ROWS)) as terminal:
        terminal.shows("decoding:")
        for _ in range(_FRAMES):
            terminal.shows("B/s]")
        _take_screen(browser, terminal, "progress.png")


def _take_prompt(browser: Browser) -> None:
    command = [*_SEGLAKE, "sql", "--lake", "lake"]
    environment = {"TERM": "xterm", "XDG_STATE_HOME": str(Path.cwd())}
    with closing(Terminal(command, environment, columns=_COLUMNS, rows=_ROWS)) as terminal:
        for question in _QUESTIONS:
            terminal.shows("seglake> ")
            terminal.types(f"{question}\n")
            terminal.shows("\n")
        terminal.shows("seglake> ")
        _take_screen(browser, terminal, "sql-prompt.png")


def _take_screen(browser: Browser, terminal: Terminal, name: str) -> None:
    page = browser.new_page(viewport=_SIZE, offline=True)
    page.set_content(page_of(terminal.transcript, columns=_COLUMNS, rows=_ROWS))
    page.locator("pre").screenshot(path=_DOCS / name)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)  # the pictures name the lake as a person would
        take(Path(made))

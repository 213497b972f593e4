"""Opens pages in the Chromium of the system, without a network.

Starts a browser, which ends with the block.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDE = ViewportSize(width=1280, height=900)
NARROW = ViewportSize(width=380, height=800)

# A new empty profile is made for each start, and removed after it.
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_ARGUMENTS])
        try:
            yield browser
        finally:
            browser.close()


class OpenPage:
    """A file in a window of its own.

    Attributes:
        asked: every address that it asked for.
        complaints: what its console says, errors of its scripts among it.
    """

    def __init__(
        self,
        browser: Browser,
        file: Path,
        size: ViewportSize = WIDE,
        scheme: Literal["light", "dark"] = "light",
    ) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = browser.new_page(viewport=size, color_scheme=scheme, offline=True)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())

    def to_rows(self) -> "OpenPage":
        """Scroll to the list of partitions, whose rows are made as they come into view."""
        self.page.evaluate("document.getElementById('rows').scrollIntoView()")
        self.page.locator(".row").first.wait_for(state="attached")
        return self

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements, in the page's order."""
        return self.page.locator(selector).all_inner_texts()

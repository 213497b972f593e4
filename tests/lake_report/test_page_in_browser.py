"""The page as a person meets it, in a real browser without a network."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_report.model import ThisRun
from seglake.pipelines.lake_report.page import to_html
from support.browser import CHROMIUM, NARROW, OpenPage, started
from support.lakes import ingested
from support.reports import page_of, reported
from support.wide_lake import write_wide_lake

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: make setup-browser"),
]
_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"
_HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
_PARTITIONS = 10_000
_MOST_SECONDS = 3.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    ingested(_SAMPLE, folder / "lake", isolation="read_committed")
    return page_of(folder / "lake", folder / "report.html")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    write_wide_lake(folder / "lake", _PARTITIONS)
    return page_of(folder / "lake", folder / "report.html")


def _names(opened: OpenPage) -> list[str]:
    """The rows that are made, from the top on."""
    rows = opened.page.locator(".row")
    places = [int(place or 0) for place in rows.evaluate_all("all => all.map(r => r.ariaPosInSet)")]
    names = opened.texts(".row .name")
    return [name for _, name in sorted(zip(places, names, strict=True))]


def test_page_asks_for_nothing_and_breaks_no_rule_of_its_policy(
    browser: Browser, samples: Path
) -> None:
    opened = OpenPage(browser, samples)
    opened.page.locator(".row").first.click()
    opened.page.emulate_media(media="print")
    assert opened.asked == [samples.as_uri()]
    assert opened.complaints == []


def test_partitions_that_need_a_look_come_first_with_their_strips(
    browser: Browser, samples: Path
) -> None:
    opened = OpenPage(browser, samples).to_rows()
    assert opened.texts("h1")[0].endswith("2 of 10 partitions need a look")
    assert _names(opened)[:2] == ["v2-zstd-1", "v2-none-1"]
    assert len(_names(opened)) == 10
    first = opened.page.locator('.row:has-text("v2-zstd-1") svg.strip')
    assert first.get_attribute("aria-label") == "v2-zstd-1: 239 ingested, 19 quarantined"
    titles = first.locator("title").all_text_contents()
    assert titles == ["ingested: [0, 258)", "quarantined: [53, 72)", "high watermark 258"]
    left, right = (
        first.locator(f'[fill="url(#p-{state})"] rect').first.bounding_box()
        for state in ("ingested", "quarantined")
    )
    assert left is not None
    assert right is not None
    assert right["x"] - left["x"] == pytest.approx(left["width"] * 53 / 258, abs=1.5)
    assert right["width"] == pytest.approx(left["width"] * 19 / 258, abs=1.5)


def test_offsets_that_wait_are_told_beside_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    write_wide_lake(tmp_path / "lake", 40, first_offset=1)
    opened = OpenPage(browser, page_of(tmp_path / "lake", tmp_path / "report.html")).to_rows()
    said = opened.texts(".row:has(.badge.look) .what .says")
    reason = "40 offsets above the high watermark 50000004 are not replicated yet"
    assert any(reason in text for text in said), said


def test_click_shows_the_partition_whole_with_its_damage(browser: Browser, samples: Path) -> None:
    opened = OpenPage(browser, samples)
    opened.page.locator('.row:has-text("v2-zstd-1")').click()
    detail = opened.page.locator("#detail")
    said = " ".join(detail.inner_text().split())
    assert "19 offsets in [53, 72)" in said
    assert "seglake replay --source with another replica" in said
    assert "v2-zstd-1/00000000000000000000.log 2 879 1 117 crc_mismatch" in said
    assert detail.locator("svg.strip").first.is_visible()
    opened.page.keyboard.press("Escape")
    assert not detail.is_visible()


def test_all_damage_is_listed_with_its_place(browser: Browser, samples: Path) -> None:
    rows = OpenPage(browser, samples).texts("#places tbody tr")
    assert [row.split()[0] for row in rows] == ["v2-zstd-1", "v2-none-1"]
    assert "v2-none-1/00000000000000000117.log" in rows[1]


def test_ten_thousand_partitions_open_within_three_seconds(browser: Browser, wide: Path) -> None:
    """Of work of the page's thread: how long that takes depends on what else the machine does."""
    assert wide.stat().st_size < 5_000_000
    page = browser.new_page()
    measured = page.context.new_cdp_session(page)
    measured.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(wide.as_uri())
    page.evaluate("document.getElementById('rows').scrollIntoView()")
    page.locator(".row svg").first.wait_for(state="attached")
    metrics = measured.send("Performance.getMetrics")["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in metrics}
    assert 0.05 < seconds["TaskDuration"] < _MOST_SECONDS
    assert page.locator("#found").inner_text() == "10\u202f000 of 10\u202f000 partitions"


def test_only_rows_in_view_are_made_and_scrolling_makes_the_others(
    browser: Browser, wide: Path
) -> None:
    opened = OpenPage(browser, wide)
    assert len(_names(opened)) < 40
    before = set(_names(opened))
    opened.page.evaluate("document.getElementById('rows').scrollIntoView()")
    opened.page.mouse.wheel(0, 56 * 5000)
    opened.page.locator('.row[aria-posinset="5004"] svg').wait_for(state="attached")
    assert len(_names(opened)) < 40
    assert before.isdisjoint(_names(opened))


def test_topic_and_reason_choose_partitions(browser: Browser, wide: Path) -> None:
    opened = OpenPage(browser, wide)
    opened.page.locator("#topic").fill("EVENTS-7-")
    assert opened.texts("#found") == ["50 of 10\u202f000 partitions"]
    opened.page.locator("#topic").fill("")
    opened.page.locator("#shown").select_option("level-2")
    (needs_a_look,) = re.findall(r"(\d+) of \d+ partitions need a look", opened.texts("h1")[0])
    assert opened.texts("#found")[0].split(" of ")[0] == needs_a_look
    opened.page.locator('.show[data-kind="quarantined"]').click()
    assert opened.texts("#found") == ["40 of 10\u202f000 partitions"]
    opened.page.locator("#order").select_option("name")
    names = _names(opened)
    topics = [name.rpartition("-")[0] for name in names]
    assert topics == sorted(topics)


@pytest.mark.parametrize("page", ["samples", "wide"])
def test_narrow_window_needs_no_scrolling_sideways(
    browser: Browser, page: str, request: pytest.FixtureRequest
) -> None:
    opened = OpenPage(browser, request.getfixturevalue(page), NARROW)
    width = "document.documentElement.scrollWidth"
    assert opened.page.evaluate(width) == NARROW["width"]
    opened.page.locator("#rows").scroll_into_view_if_needed()
    opened.page.locator(".row").first.click()
    assert opened.page.evaluate(width) == NARROW["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_paper(browser: Browser, samples: Path, scheme: str) -> None:
    """As WCAG asks of small text: at least 4.5 to 1."""
    opened = OpenPage(browser, samples, scheme="dark" if scheme == "dark" else "light")
    pairs = opened.page.evaluate(
        """() => [...document.querySelectorAll("h1, .badge, .says, .aside, td, small")].map(
          (e) => { let p = e; while (getComputedStyle(p).backgroundColor === "rgba(0, 0, 0, 0)")
            p = p.parentElement; return [getComputedStyle(e).color,
            getComputedStyle(p).backgroundColor]; })"""
    )
    assert len(pairs) > 30
    assert [pair for pair in pairs if _contrast(*pair) < 4.5] == []


def _contrast(one: str, other: str) -> float:
    lights = sorted(map(_light, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_printing_lists_partitions_that_are_out_of_view(browser: Browser, samples: Path) -> None:
    opened = OpenPage(browser, samples, NARROW)
    assert len(_names(opened)) < 10
    pages = opened.page.pdf()
    assert pages.startswith(b"%PDF")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(opened.texts(".row .name")) == 10
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(opened.texts(".row .name")) < 10


def test_without_scripts_the_answer_and_what_to_do_are_there(
    browser: Browser, samples: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(samples.as_uri())
    text = page.locator("body").inner_text()
    assert "2 of 10 partitions need a look" in text
    assert "seglake replay --lake" in text
    assert "needs JavaScript" in text


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    write_wide_lake(tmp_path / "lake", 6, topic=_HOSTILE)
    told = (Finding(FindingKind.LEFT_OUT, _HOSTILE, f"{_HOSTILE}-0"),)
    said = ThisRun(command="ingest", run_id=_HOSTILE, exit_code=3, lines=(_HOSTILE,), findings=told)
    file = tmp_path / "report.html"
    file.write_bytes(to_html(reported(tmp_path / "lake", this_run=said)))
    opened = OpenPage(browser, file).to_rows()
    opened.page.locator(".row").first.click()
    assert opened.page.locator("img").count() == 0
    assert _HOSTILE in opened.page.locator("#detail").inner_text()
    assert (opened.asked, opened.complaints) == ([file.as_uri()], [])

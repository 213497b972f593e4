"""README is short, and no page leads nowhere."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_MOST_LINES, _MOST_CHARACTERS = 150, 120
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NOT_OURS = {"build", ".venv", ".venv-airflow", ".pytest_cache", "node_modules"}


def _pages() -> list[Path]:
    found = sorted(_ROOT.glob("*.md"))
    for folder in sorted(_ROOT.iterdir()):
        if folder.is_dir() and not folder.is_symlink() and folder.name not in _NOT_OURS:
            found += sorted(folder.rglob("*.md"))
    return found


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text("utf-8"))


def _links(page: Path) -> Iterator[str]:
    for target in _LINK.findall(re.sub(r"`[^`]*`", "", _prose(page))):
        if "://" not in target:
            yield target


def _anchor(heading: str) -> str:
    """The name that a heading has in a link, on GitHub and on the built site."""
    text = unicodedata.normalize("NFKD", heading).lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip())


def test_readme_is_short() -> None:
    lines = (_ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= _MOST_LINES
    assert [line for line in lines if len(line) > _MOST_CHARACTERS] == []


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_of_page_lead_somewhere(page: Path) -> None:
    assert [link for link in _links(page) if not _leads_somewhere(link, page)] == []


def _leads_somewhere(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_file():
        return False
    return not anchor or anchor in map(_anchor, _HEADING.findall(_prose(target)))


def test_every_page_of_docs_is_in_the_site_s_contents() -> None:
    contents = (_ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [page.name for page in (_ROOT / "docs").glob("*.md")]
    assert [name for name in pages if f"docs/{name}" not in contents] == []


def test_contributing_has_a_row_for_every_room() -> None:
    text = (_ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"^\| `([\w/…]+)`", text, re.MULTILINE))
    package = _ROOT / "libs" / "seglake"
    folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("*.py")}
    shown = {folder.replace("ingest_steps/", "…/") for folder in folders - {"."}}
    assert shown - named == set()


def test_readme_of_its_room_names_each_module() -> None:
    package = _ROOT / "libs" / "seglake"
    unnamed = [
        str(module.relative_to(package))
        for module in package.rglob("*.py")
        if module.name != "__init__.py" and module.stem not in _named_in(_map_of(module.parent))
    ]
    assert unnamed == []


def _map_of(folder: Path) -> Path:
    """The README that is nearest above; CONTRIBUTING for what lies in the package itself."""
    if folder.name == "seglake":
        return _ROOT / "CONTRIBUTING.md"
    readme = folder / "README.md"
    return readme if readme.is_file() else _map_of(folder.parent)


def _named_in(page: Path) -> set[str]:
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", _prose(page)))))

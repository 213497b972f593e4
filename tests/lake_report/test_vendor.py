"""The libraries of others are as their packages have them, each with its licence."""

import hashlib
from pathlib import Path

import seglake.pipelines.lake_report as room

_VENDOR = Path(room.__file__).parent / "page" / "vendor"
_SHA256 = {
    "d3-7.9.0.min.js": "f2094bbf6141b359722c4fe454eb6c4b0f0e42cc10cc7af921fc158fceb86539",
    "plot-0.6.17.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
}


def test_vendored_files_are_unchanged_and_licensed() -> None:
    scripts = {path.name: path.read_bytes() for path in _VENDOR.glob("*.js")}
    found = {name: hashlib.sha256(script).hexdigest() for name, script in scripts.items()}
    assert found == _SHA256
    for name in scripts:
        licence = _VENDOR / name.replace(".min.js", ".LICENSE")
        assert "Permission to use, copy, modify" in licence.read_text("utf-8")


def test_readme_names_each_with_its_version() -> None:
    readme = (_VENDOR.parents[1] / "README.md").read_text("utf-8")
    assert [name for name in _SHA256 if f"`{name}`" not in readme] == []

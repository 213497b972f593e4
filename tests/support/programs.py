"""Small programs in processes of their own, and what they say."""

import subprocess
import sys
from pathlib import Path


def last_words(text: str, folder: Path) -> str:
    """The last line that a program writes to stderr."""
    return said(text, folder)[1].splitlines()[-1]


def said(text: str, folder: Path, *, seconds: int = 20) -> tuple[str, str]:
    """Return the output of a program on stdout and stderr."""
    program = folder / "program.py"
    program.write_text(text.format(folder=str(Path(__file__).parents[1])))
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    return done.stdout, done.stderr

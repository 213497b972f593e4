"""The prompt of `seglake sql`: reads the statements that a person types, one after the other."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seglake.errors import SeglakeError
from seglake.pipelines.lake_query.named import known_names
from seglake.pipelines.lake_query.statements import is_finished, require_query, split_statements

_PROMPT = "seglake> "
_MORE = "    ...> "
_GREETING = (
    "A statement ends with a semicolon. SHOW TABLES; lists tables and views, Tab completes names.",
    "Ctrl-C stops a statement. Ctrl-D or exit leaves.",
)
_LEAVING = frozenset({"exit", "quit"})
_MOST_HISTORY = 1000


def prompt(ask: Callable[[str], None], *, survives_interrupts: bool) -> None:
    """Read statements and answer them until the person leaves.

    Args:
        ask: prints the answer to one statement.
        survives_interrupts: whether another statement may follow an interrupted one.
    """
    sys.stdout.writelines(f"{line}\n" for line in _GREETING)
    with _history():
        typed = ""
        while True:
            try:
                line = input(_MORE if typed else _PROMPT)
            except EOFError:
                sys.stdout.write("\n")
                return
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                typed = ""
                continue
            if not typed and line.strip().rstrip(";").casefold() in _LEAVING:
                return
            typed += f"{line}\n"
            if is_finished(typed):
                _answer(typed, ask, survives_interrupts=survives_interrupts)
                typed = ""


def _answer(typed: str, ask: Callable[[str], None], *, survives_interrupts: bool) -> None:
    """Answer the typed statements until one fails."""
    try:
        for statement in split_statements(typed):
            require_query(statement)
            ask(statement)
    except SeglakeError as error:
        sys.stderr.write(f"seglake: {error}\n")
    except KeyboardInterrupt:
        if not survives_interrupts:
            raise
        sys.stderr.write("seglake: interrupted\n")


@contextmanager
def _history() -> Iterator[None]:
    """Enable history and tab completion if Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    file = _history_file()
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(_MOST_HISTORY)
    readline.set_completer(_completion)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with suppress(OSError):  # the home folder is read-only
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            readline.write_history_file(file)


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "seglake" / "sql_history"


def _completion(begun: str, number: int) -> str | None:
    names = sorted(name for name in known_names() if name.startswith(begun))
    return names[number] if number < len(names) else None

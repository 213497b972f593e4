"""Keeps a file for each erasure that has begun and has not ended, so that an audit can name it.

The file is beside the table of rules. It has the topics, the reason and a salted hash of the choice
of records, and no payload. A run deletes its own file when it has ended well, and the files of runs
that died with the same choice, whose work it has done.
"""

import contextlib
import json
import shlex
import uuid
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256

from seglake.lake.delta_tables import OWN_FOLDER, LakeTables
from seglake.lake.lake_folder import entries_of
from seglake.lake.rule_table import ERASURES
from seglake.log_tables.erasure_rules import new_salt
from seglake.storage.errors import NotFoundError

_SUFFIX = ".json"
_LISTS = ("topics", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunErasure:
    """An erasure that has begun.

    Attributes:
        name: name of its file, without the suffix.
        run_id: label of the run.
        topics: names of the topics.
        reason: reason in clear text.
        begun_at: time of the begin, ISO-8601.
        by: option that chooses the records, `--key` or `--where`.
        options: further options that change what is erased, such as `--purge`.
        salt: salt of the hash, in hexadecimal digits.
        choice: hash of the key or of the condition's text, in hexadecimal digits.
    """

    name: str
    run_id: str
    topics: tuple[str, ...]
    reason: str
    begun_at: str
    by: str
    options: tuple[str, ...]
    salt: str
    choice: str

    @classmethod
    def of(
        cls,
        choice: bytes,
        *,
        run_id: str,
        topics: tuple[str, ...],
        reason: str,
        begun_at: str,
        by: str,
        options: tuple[str, ...],
    ) -> "BegunErasure":
        """Make the value for a run that begins; `choice` is its key, or its condition in UTF-8."""
        salt = new_salt()
        return cls(
            name=uuid.uuid4().hex,
            run_id=run_id,
            topics=topics,
            reason=reason,
            begun_at=begun_at,
            by=by,
            options=options,
            salt=salt.hex(),
            choice=_hash(salt, choice),
        )

    def includes(self, other: "BegunErasure", choice: bytes) -> bool:
        """Return whether this erasure, of the given choice, does all that an earlier one does."""
        return (
            other.begun_at <= self.begun_at
            and self.by == other.by
            and _hash(bytes.fromhex(other.salt), choice) == other.choice
            and {*other.topics} <= {*self.topics}
            and {*other.options} <= {*self.options}
        )

    def text(self, lake: str) -> str:
        """Return a sentence that names the erasure, and how to complete it."""
        topics = " ".join(map(shlex.quote, self.topics))
        options = "".join(f" {name}" for name in self.options)
        reason = f" ({self.reason})" if self.reason else ""
        return (
            f"{', '.join(self.topics)}: the erasure that began at {self.begun_at}{reason} has not"
            " ended. If it is not running, it was killed: run it again, with the same"
            f" {self.by}: seglake erase --lake {shlex.quote(lake)} --topics {topics}{options}"
            f" {self.by} ..."
        )


def begin(tables: LakeTables, erasure: BegunErasure) -> None:
    """Write the file of an erasure that begins; it is durable on return."""
    content = json.dumps(asdict(erasure)).encode()
    tables.storage.write_bytes(_path(tables, erasure.name), content)


def end(tables: LakeTables, erasure: BegunErasure, choice: bytes) -> None:
    """Delete the file of an erasure that has ended, and those whose work it has done.

    Args:
        tables: the lake.
        erasure: the erasure.
        choice: its key or condition.
    """
    for other in begun_erasures(tables):
        if erasure.includes(other, choice):
            tables.storage.delete(_path(tables, other.name))


def abandon(
    tables: LakeTables, run_id: str, topics: Collection[str], *, dry_run: bool
) -> list[BegunErasure]:
    """Delete the files of a run's erasures from some topics; return these erasures.

    Args:
        tables: the lake.
        run_id: label of the run.
        topics: the topics; an erasure that has further ones stays.
        dry_run: whether to delete nothing.
    """
    found = [
        each
        for each in begun_erasures(tables)
        if each.run_id == run_id and {*each.topics} <= {*topics}
    ]
    for each in found:
        if not dry_run:
            tables.storage.delete(_path(tables, each.name))
    return found


def begun_erasures(tables: LakeTables) -> list[BegunErasure]:
    """Return the erasures that have begun and not ended, the oldest first.

    Raises:
        StorageError: the lake cannot be read.
    """
    return sorted(_read(tables), key=lambda each: (each.begun_at, each.name))


def _read(tables: LakeTables) -> Iterator[BegunErasure]:
    for entry in entries_of(tables.storage, _folder(tables)):
        if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
            with contextlib.suppress(NotFoundError):  # its run has ended meanwhile
                facts = json.loads(tables.storage.read_bytes(entry.path))
                yield BegunErasure(**{**facts, **{name: tuple(facts[name]) for name in _LISTS}})


def _folder(tables: LakeTables) -> str:
    return tables.storage.join(tables.path(ERASURES), OWN_FOLDER, "begun")


def _path(tables: LakeTables, name: str) -> str:
    return tables.storage.join(_folder(tables), f"{name}{_SUFFIX}")


def _hash(salt: bytes, choice: bytes) -> str:
    return sha256(salt + choice).hexdigest()

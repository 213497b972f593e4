"""Chooses the form of a topic's keys or values from counts over its records.

The form is chosen for the topic, never for a record: a text that begins with a byte 0 in a topic
of JSON is no frame, and a value without a frame in a topic of frames is a reject.

The first row that fits wins.

| the records show | form |
| --- | --- |
| frames or headers that name schemas of the registry | the form with the most of them |
| mostly frames of Glue or of single objects, with lost schemas | that form |
| mostly headers with a schema id, or nine in ten frames with one, with lost schemas | Confluent's |
| mostly JSON objects and arrays | JSON, or Connect's JSON |

A known id alone proves little: numbers of 8 bytes may look like one. So it counts if the registry
has a subject of the topic, or if a tenth of the values, not all of 8 bytes, have a known id.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.bodies import Bodies, bodies_of_bytes, without
from seglake.value_codec.frames.forms import FRAMED_FORMS, Form
from seglake.value_codec.frames.frames import MAGIC_BYTES
from seglake.value_codec.frames.schema_groups import GroupContext, schema_groups
from seglake.value_codec.reject_reasons import UNKNOWN_SCHEMA
from seglake.value_codec.schema_readers import SchemaReaders

_MOST_PARSED = 200  # most texts of a task to parse as JSON
_LEAST_SHARE = 10  # without a subject, one in so many values must have a known schema
_LONG_BYTES = 8
_BRACES = b"{["


@dataclass(slots=True)
class FormEvidence:
    """Counts that show the form of a topic's keys or values; counts of several tasks add up.

    Attributes:
        bodies: number of keys or values that are not null.
        longs: number of them that have 8 bytes.
        schemas: number of frames that name a schema of the registry, by form and the name of the
            schema's columns.
        framed: number of frames, by form.
        in_headers: number of values whose schema a header names.
        texts: number of values that begin as a JSON object or array.
        parsed: number of texts that were parsed, up to 200 in each task.
        objects: number of parsed texts that are JSON.
        envelopes: number of parsed texts that have a schema and a payload, as Connect writes them.
    """

    bodies: int = 0
    longs: int = 0
    schemas: Counter[tuple[Form, str]] = field(default_factory=Counter)
    framed: Counter[Form] = field(default_factory=Counter)
    in_headers: int = 0
    texts: int = 0
    parsed: int = 0
    objects: int = 0
    envelopes: int = 0

    def add(self, other: "FormEvidence") -> None:
        """Add the counts of other keys or values."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def names(self, form: Form) -> frozenset[str]:
        """Return the names of the registry's schemas that frames of a form refer to."""
        return frozenset(name for each, name in self.schemas if each is form)

    def add_bodies(
        self,
        found: Bodies,
        headers: Mapping[int, bytes],
        readers: SchemaReaders,
        subject: str,
    ) -> None:
        """Count some keys or values.

        Args:
            found: keys or values with their frames.
            headers: last header with a schema id, by the index of its key or value.
            readers: know which schemas exist.
            subject: subject of the keys or values.
        """
        self.bodies += len(found.starts)
        self.longs += int(((found.ends - found.starts) == _LONG_BYTES).sum())
        self.in_headers += len(headers)
        named = bodies_of_bytes(headers.values())
        bare = found.of(without(len(found.starts), np.fromiter(headers, np.int64)))
        filled = np.flatnonzero(bare.ends > bare.starts)
        firsts = bare.data[bare.starts[filled]]
        seen = np.bincount(firsts, minlength=256)
        left = bare  # a value has a frame of one form at most
        for form in FRAMED_FORMS:
            if seen[[*MAGIC_BYTES[form]]].any():
                left = left.of(self._add_frames(left, GroupContext(form, readers, subject)))
        self._add_frames(named, GroupContext(Form.CONFLUENT, readers, subject))
        self._add_texts(bare, filled[(firsts == _BRACES[0]) | (firsts == _BRACES[1])])

    def _add_frames(self, some: Bodies, context: GroupContext) -> NDArray[np.int64]:
        """Count frames of a form; return the indexes of the values without one."""
        form, has_frame = context.form, np.zeros(len(some.starts), np.bool_)
        for group in schema_groups(some, {}, context):
            if group.name:
                has_frame[group.rows] = True
                self.framed[form] += len(group.rows)
                if group.use.problem not in UNKNOWN_SCHEMA:
                    self.schemas[form, group.key] += len(group.rows)
        return np.flatnonzero(~has_frame)

    def _add_texts(self, some: Bodies, texts: NDArray[np.int64]) -> None:
        data, starts, ends = some
        self.texts += len(texts)
        for row in texts[: _MOST_PARSED - self.parsed].tolist():
            self.parsed += 1
            try:
                found = json.loads(data[starts[row] : ends[row]].tobytes())
            except (ValueError, RecursionError):
                continue
            self.objects += 1
            self.envelopes += isinstance(found, dict) and found.keys() == {"schema", "payload"}

    def chosen(self, *, has_subject: bool) -> Form:
        """Return the form that fits these counts.

        Args:
            has_subject: whether the registry has a subject of the topic's keys or values.
        """
        known = Counter[Form]()
        for (each, _), count in self.schemas.items():
            known[each] += count
        form = max(FRAMED_FORMS, key=lambda each: known[each])
        least = 1 if has_subject else max(1, self.bodies / _LEAST_SHARE)
        are_longs = self.longs == self.bodies and form is Form.CONFLUENT
        if known[form] >= least and (has_subject or self.in_headers or not are_longs):
            return form
        for form in (Form.GLUE, Form.SINGLE_OBJECT):
            if self._is_most(self.framed[form]):
                return form
        is_framed = self._is_nearly_all(self.framed[Form.CONFLUENT])
        is_framed &= not self._is_nearly_all(self.longs)
        if self._is_most(self.in_headers) or is_framed:
            return Form.CONFLUENT
        if self._is_most(self.texts) and 2 * self.objects > self.parsed:
            return Form.CONNECT_JSON if 2 * self.envelopes > self.objects else Form.JSON
        return Form.NONE

    def _is_most(self, count: int) -> bool:
        return 2 * count > self.bodies

    def _is_nearly_all(self, count: int) -> bool:
        return 10 * count >= 9 * self.bodies > 0

"""JSON whose columns need much memory is read in parts, or rejected: `{}` fills all columns."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.decoded import TooManyItemsError
from seglake.value_codec.json import value_reader
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.reject_reasons import RejectReason
from support.value_parts import decoded_parts

_WIDE = json.dumps({f"f{number}": number for number in range(200)})
_IN_A_CHILD = """
import resource
import numpy as np
from seglake.value_codec.bodies import Bodies
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.value_reader import JsonReader
members = ",".join(f'"f{number}":{number}' for number in range(1000))
text = ('{"a":[{' + members + "}" + ",{}" * 200_000 + "]}").encode()
body = Bodies(np.frombuffer(text, np.uint8), np.array([0]), np.array([len(text)]))
shape = shape_of(body)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
[code] = JsonReader(shape).read(body).reasons
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _list_of(count: int) -> bytes:
    return f'{{"a":[{_WIDE}{",{}" * (count - 1)}]}}'.encode()


def test_objects_that_need_much_memory_are_read_in_parts_or_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = bodies_of_bytes([_list_of(1), _list_of(5000), b"{", _list_of(5000), b'{"a":[]}'])
    reader = JsonReader(shape_of(bodies))
    whole = reader.read(bodies)
    bad, large = RejectReason.BAD_JSON.code, RejectReason.TOO_LARGE.code
    assert whole.reasons.tolist() == [0, 0, bad, 0, 0]
    monkeypatch.setattr(value_reader, "MOST_BYTES", 10_000_000)
    with pytest.raises(TooManyItemsError):
        reader.read(bodies)
    parts = decoded_parts(reader, bodies)
    assert len(parts) > 1
    assert pa.concat_arrays([part.values for part in parts]).equals(whole.values)
    assert np.concatenate([part.reasons for part in parts]).tolist() == whole.reasons.tolist()
    monkeypatch.setattr(value_reader, "MOST_BYTES", 8_000_000)
    parts = decoded_parts(reader, bodies)
    outcomes = [(c, p) for part in parts for c, p in zip(part[1], part[2], strict=True)]
    assert outcomes == [(0, 0), (large, 0), (bad, 1), (large, 0), (0, 0)]
    [row] = parts[-1].values.to_pylist()[-1:]
    assert row == {"a": [], "value__json": None}


def test_objects_without_members_claim_no_memory_beyond_the_bound() -> None:
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_CHILD],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    code, grown_kib = done.stdout.split()
    assert RejectReason.of_code(int(code)) is RejectReason.TOO_LARGE
    assert int(grown_kib) < 200 << 10  # all columns would need 1.8 GB

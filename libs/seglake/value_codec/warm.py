"""Compiles the kernels of values into numba's cache, so that no first run waits for it.

python -m seglake.value_codec.warm

Where the cache is, and for which processors it is valid: see `segment_codec.warm`.
"""

import numpy as np

from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.kernels.arguments import grouped_heads


def warm() -> None:
    """Compile all kernels of values, by reading a few values."""
    value = bodies_of_bytes([b"\0"])
    grouped_heads(value, np.ones(256, np.int64))
    AvroReader(parsed_schema("string", {}), is_raw_bytes=False).read(value)
    text = bodies_of_bytes([b'[{"a": [0.5, "x"]}]'])
    JsonReader(shape_of(text)).read(text)


if __name__ == "__main__":
    warm()

"""Values of one schema, decoded in as many parts as their memory needs."""

import numpy as np

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.decoded import ColumnReader, Decoded
from seglake.value_codec.frames.schema_groups import SchemaGroup
from seglake.value_codec.schema_readers import SchemaUse


def decoded_parts(reader: ColumnReader, bodies: Bodies) -> list[Decoded]:
    """Decode bodies without frames."""
    rows = np.arange(len(bodies.starts))
    group = SchemaGroup("", SchemaUse("", reader), rows, bodies, np.zeros_like(rows))
    return [*group.decoded_parts()]

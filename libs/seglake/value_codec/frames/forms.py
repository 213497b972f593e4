"""Forms in which serializers write the keys or values of a topic."""

from collections.abc import Mapping
from enum import StrEnum

HEADERS: Mapping[str, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
"""Names of the headers with a schema id in Confluent's form, by part of the record."""


class Form(StrEnum):
    """Forms of a topic's keys or values; all keys have one form, and all values have one."""

    CONFLUENT = "confluent"  # an id or a GUID before the body, or in a header
    SINGLE_OBJECT = "single_object"  # Avro's own frame, with a fingerprint of the schema
    APICURIO = "apicurio"  # an id of 8 bytes before the body, as Apicurio's older clients write
    GLUE = "glue"  # AWS Glue's frame, with the UUID of a schema version
    JSON = "json"  # objects or arrays without a schema
    CONNECT_JSON = "connect_json"  # Kafka Connect's JSON, with a schema in each message
    BARE = "bare"  # bodies without a frame, of a schema that a person names
    NONE = "none"  # none of the other forms


APICURIO_HEADERS: Mapping[str, tuple[str, ...]] = {
    part: (f"apicurio.{part}.globalId", f"apicurio.{part}.contentId") for part in HEADERS
}
"""Names of Apicurio's headers with a schema id of 8 bytes, by part of the record."""

FRAMED_FORMS = (Form.CONFLUENT, Form.SINGLE_OBJECT, Form.GLUE, Form.APICURIO)
"""Forms with a frame that names the schema of each value."""

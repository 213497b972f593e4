"""Reads records of `__cluster_metadata`, in which KRaft stores topics, configs and brokers.

Values are framed messages, see `framed_message`; these records have no key.

The log contains secrets. Values that are or may be secret are omitted. Of records with credentials
or tokens, only the type is read. The value of a config is omitted unless the config's name proves
that the value is no secret. Kafka has the same rule: it treats unknown configs as sensitive.

Source for sensitive configs: apache/kafka 1eb7644, KafkaConfigSchema.java,
DynamicBrokerConfig.java and BrokerSecurityConfigs.java.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from seglake.segment_codec.formats.internal_topics.framed_message import framed_message
from seglake.segment_codec.formats.internal_topics.message_layout import Json

RESOURCE_TYPES: Mapping[int, str] = {
    2: "topic",
    4: "broker",
    8: "broker_logger",
    16: "client_metrics",
    32: "group",
}

_CONFIG_TYPE = 4
# Types of resources whose configs are never secret.
_NEVER_SECRET_RESOURCES = frozenset({"topic", "client_metrics", "group"})
_SUSPICIOUS = re.compile(r"passw|secret|credential|token|passphrase|private|jaas|key|cert", re.I)
_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.")
_KNOWN_BROKER_CONFIGS = re.compile(
    r"(?:log|num|compression|min\.insync|max\.connections?|message|background|unclean"
    r"|leader\.replication|follower\.replication|replica|producer\.id|transaction|group"
    r"|remote\.log\.index|remote\.fetch|remote\.log\.manager)\..*"
    r"|listeners|advertised\.listeners|listener\.security\.protocol\.map|metric\.reporters"
    r"|principal\.builder\.class|max\.connections|cordoned\.log\.dirs"
    r"|ssl\.(?:protocol|provider|cipher\.suites|enabled\.protocols|client\.auth"
    r"|endpoint\.identification\.algorithm|truststore\.(?:type|location))"
    r"|sasl\.(?:enabled\.mechanisms|kerberos\.[a-z.]+|login\.refresh\.[a-z.]+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """A record of the metadata log, without secrets.

    Attributes:
        record_type: name of the type; `unknown` for an unknown number.
        type_id: number of the type; None if it is unreadable.
        type_version: version of the layout; None if it is unreadable.
        fields: fields by Kafka's names; tagged fields only if they are set. A redacted value is
            None.
        is_redacted: whether a value was omitted that is or may be a secret.
        unread_reason: why the value could not be parsed; None if it was. An unreadable value may
            contain a secret.
    """

    record_type: str
    type_id: int | None
    type_version: int | None
    fields: Mapping[str, Json]
    is_redacted: bool
    unread_reason: str | None

    @property
    def may_hold_secret(self) -> bool:
        """Return whether the record may contain a secret, so that its bytes must not be stored."""
        return self.is_redacted or self.unread_reason is not None


def metadata_record(value: bytes | None) -> MetadataRecord:
    """Parse a record; errors are in `unread_reason`, not raised."""
    message = framed_message("cluster_metadata", value)
    fields, is_redacted = message.fields, message.is_secret
    if fields and message.type_id == _CONFIG_TYPE and _may_be_secret(fields):
        fields = {**fields, "value": None}
        is_redacted = True
    return MetadataRecord(
        record_type=message.name,
        type_id=message.type_id,
        type_version=message.version,
        fields=fields,
        is_redacted=is_redacted,
        unread_reason=message.unread_reason,
    )


def _may_be_secret(config: Mapping[str, Json]) -> bool:
    """Return whether a config's value may be a secret: not null, and not known to be harmless.

    Records of removed configs have a null value.
    """
    if config["value"] is None:
        return False
    name = _LISTENER_PREFIX.sub("", str(config["name"]), count=1)
    if _SUSPICIOUS.search(name):
        return True
    number = config["resourceType"]
    resource = RESOURCE_TYPES.get(number) if isinstance(number, int) else None
    return resource not in _NEVER_SECRET_RESOURCES and not _KNOWN_BROKER_CONFIGS.fullmatch(name)

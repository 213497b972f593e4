"""Layouts of the records of `__cluster_metadata`, by type: names, and fields in order.

See `message_layout` for how to read the tables; all versions of all records are flexible. Records
that carry or remove a secret have no layout here: they are named and never read.

Source: apache/kafka 1eb7644, metadata/src/main/resources/common/metadata.
"""

from collections.abc import Mapping
from typing import NamedTuple

from seglake.segment_codec.formats.internal_topics.message_layout import Layout, flexible


class MetadataForm(NamedTuple):
    """Name and layout of a record type; `layout` is None if the fields are secret."""

    name: str
    layout: Layout | None


_REGISTER_BROKER = flexible(
    """
    brokerId               int32
    isMigratingZkBroker    bool     2+
    incarnationId          uuid
    brokerEpoch            int64
    endPoints              []
      name                 string
      host                 string
      port                 uint16
      securityProtocol     int16
    features               []
      name                 string
      minSupportedVersion  int16
      maxSupportedVersion  int16
    rack                   string   nullable
    fenced                 bool
    inControlledShutdown   bool     1+
    logDirs                []uuid   3+ tag 0
    cordonedLogDirs        []uuid   4+ nullable tag 1
    """,
    newest=4,
)
_REGISTER_CONTROLLER = flexible("""
    controllerId           int32
    incarnationId          uuid
    zkMigrationReady       bool
    endPoints              []
      name                 string
      host                 string
      port                 uint16
      securityProtocol     int16
    features               []
      name                 string
      minSupportedVersion  int16
      maxSupportedVersion  int16
""")
_BROKER_CHANGE = flexible(
    """
    brokerId              int32
    brokerEpoch           int64
    fenced                int8    tag 0
    inControlledShutdown  int8    1+ tag 1
    logDirs               []uuid  2+ tag 2
    cordonedLogDirs       []uuid  3+ nullable tag 3
    """,
    newest=3,
)
_BROKER_ID = flexible("""
    brokerId     int32
    brokerEpoch  int64
""")
_BROKER_FENCE = flexible("""
    id     int32
    epoch  int64
""")
_PARTITION = flexible(
    """
    partitionId             int32
    topicId                 uuid
    replicas                []int32
    isr                     []int32
    removingReplicas        []int32  nullable
    addingReplicas          []int32  nullable
    leader                  int32
    leaderRecoveryState     int8     tag 0
    leaderEpoch             int32
    partitionEpoch          int32
    directories             []uuid   1+
    eligibleLeaderReplicas  []int32  2+ nullable tag 1
    lastKnownElr            []int32  2+ nullable tag 2
    """,
    newest=2,
)
_PARTITION_CHANGE = flexible(
    """
    partitionId             int32
    topicId                 uuid
    isr                     []int32  nullable tag 0
    leader                  int32    tag 1
    replicas                []int32  nullable tag 2
    removingReplicas        []int32  nullable tag 3
    addingReplicas          []int32  nullable tag 4
    leaderRecoveryState     int8     tag 5
    eligibleLeaderReplicas  []int32  2+ nullable tag 6
    lastKnownElr            []int32  2+ nullable tag 7
    directories             []uuid   1+ nullable tag 8
    """,
    newest=2,
)
_TOPIC = flexible("""
    name     string
    topicId  uuid
""")
_CONFIG = flexible("""
    resourceType  int8
    resourceName  string
    name          string
    value         string  nullable
""")
_FEATURE_LEVEL = flexible("""
    name          string
    featureLevel  int16
""")
_CLIENT_QUOTA = flexible("""
    entity        []
      entityType  string
      entityName  string   nullable
    key           string
    value         float64
    remove        bool
""")
_PRODUCER_IDS = flexible("""
    brokerId        int32
    brokerEpoch     int64
    nextProducerId  int64
""")
_ACCESS_CONTROL_ENTRY = flexible("""
    id              uuid
    resourceType    int8
    resourceName    string
    patternType     int8
    principal       string
    host            string
    operation       int8
    permissionType  int8
""")
_NOTHING = flexible("")

FORMS: Mapping[int, MetadataForm] = {
    0: MetadataForm("register_broker", _REGISTER_BROKER),
    1: MetadataForm("unregister_broker", _BROKER_ID),
    2: MetadataForm("topic", _TOPIC),
    3: MetadataForm("partition", _PARTITION),
    4: MetadataForm("config", _CONFIG),
    5: MetadataForm("partition_change", _PARTITION_CHANGE),
    7: MetadataForm("fence_broker", _BROKER_FENCE),
    8: MetadataForm("unfence_broker", _BROKER_FENCE),
    9: MetadataForm("remove_topic", flexible("topicId  uuid")),
    10: MetadataForm("delegation_token", None),
    11: MetadataForm("user_scram_credential", None),
    12: MetadataForm("feature_level", _FEATURE_LEVEL),
    14: MetadataForm("client_quota", _CLIENT_QUOTA),
    15: MetadataForm("producer_ids", _PRODUCER_IDS),
    17: MetadataForm("broker_registration_change", _BROKER_CHANGE),
    18: MetadataForm("access_control_entry", _ACCESS_CONTROL_ENTRY),
    19: MetadataForm("remove_access_control_entry", flexible("id  uuid")),
    20: MetadataForm("no_op", _NOTHING),
    21: MetadataForm("zk_migration_state", flexible("zkMigrationState  int8")),
    22: MetadataForm("remove_user_scram_credential", None),
    23: MetadataForm("begin_transaction", flexible("name  string  nullable tag 0")),
    24: MetadataForm("end_transaction", _NOTHING),
    25: MetadataForm("abort_transaction", flexible("reason  string  nullable tag 0")),
    26: MetadataForm("remove_delegation_token", None),
    27: MetadataForm("register_controller", _REGISTER_CONTROLLER),
    28: MetadataForm("clear_elr", flexible("topicName  string")),
    29: MetadataForm("unregister_controller", flexible("controllerId  int32")),
}

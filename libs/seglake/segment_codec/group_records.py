"""Records of `__consumer_offsets`: what the group coordinators keep of their groups.

The layouts below are in the order of the bytes, see `message_layout`; around them is the envelope
of `coordinator_records`. Kinds whose values have none here are named, and their values not read.

Source: apache/kafka 1eb7644, group-coordinator/src/main/resources/common/message. Values of share
and streams groups changed between releases without a new version; those that do not fit are not
read either.
"""

from collections.abc import Mapping
from enum import StrEnum

from seglake.segment_codec.coordinator_records import CoordinatorRecord, Form, read_record
from seglake.segment_codec.message_layout import Layout


class GroupKind(StrEnum):
    """What a record is about, by the type in its key."""

    OFFSET_COMMIT = "offset_commit"
    CLASSIC_GROUP = "classic_group"
    CONSUMER_GROUP = "consumer_group"
    CONSUMER_GROUP_PARTITION_METADATA = "consumer_group_partition_metadata"
    CONSUMER_GROUP_MEMBER = "consumer_group_member"
    CONSUMER_GROUP_TARGET = "consumer_group_target_assignment"
    CONSUMER_GROUP_TARGET_MEMBER = "consumer_group_target_assignment_member"
    CONSUMER_GROUP_CURRENT = "consumer_group_current_assignment"
    CONSUMER_GROUP_EXPRESSION = "consumer_group_regular_expression"
    SHARE_GROUP_MEMBER = "share_group_member"
    SHARE_GROUP = "share_group"
    SHARE_GROUP_TARGET = "share_group_target_assignment"
    SHARE_GROUP_TARGET_MEMBER = "share_group_target_assignment_member"
    SHARE_GROUP_CURRENT = "share_group_current_assignment"
    SHARE_GROUP_PARTITIONS = "share_group_state_partitions"
    STREAMS_GROUP = "streams_group"
    STREAMS_GROUP_MEMBER = "streams_group_member"
    STREAMS_GROUP_TARGET = "streams_group_target_assignment"
    STREAMS_GROUP_TARGET_MEMBER = "streams_group_target_assignment_member"
    STREAMS_GROUP_CURRENT = "streams_group_current_assignment"
    STREAMS_GROUP_TOPOLOGY = "streams_group_topology"


_OFFSET_KEY = Layout("""
    group      string
    topic      string
    partition  int32
""")
_GROUP_KEY = Layout("group  string")
_MEMBER_KEY = Layout("""
    group     string
    memberId  string
""")
_EXPRESSION_KEY = Layout("""
    group              string
    regularExpression  string
""")

_OFFSET_VALUE = Layout(
    """
    offset           int64
    leaderEpoch      int32   3+
    metadata         string
    commitTimestamp  int64
    expireTimestamp  int64   1
    topicId          uuid    4+ tag 0
    """,
    newest=4,
    flexible=4,
)
_CLASSIC_GROUP = Layout(
    """
    protocolType           string
    generation             int32
    protocol               string  nullable
    leader                 string  nullable
    currentStateTimestamp  int64   2+
    members                []
      memberId             string
      groupInstanceId      string  3+ nullable
      clientId             string
      clientHost           string
      rebalanceTimeout     int32   1+
      sessionTimeout       int32
      subscription         bytes
      assignment           bytes
    """,
    newest=4,
    flexible=4,
)
_CONSUMER_GROUP = Layout(
    """
    epoch         int32
    metadataHash  int64  tag 0
    """,
    flexible=0,
)
_CONSUMER_GROUP_MEMBER = Layout(
    """
    instanceId             string    nullable
    rackId                 string    nullable
    clientId               string
    clientHost             string
    subscribedTopicNames   []string
    subscribedTopicRegex   string    nullable
    rebalanceTimeoutMs     int32
    serverAssignor         string    nullable
    classicMemberMetadata  {}        nullable tag 0
      sessionTimeoutMs     int32
      supportedProtocols   []
        name               string
        metadata           bytes
    """,
    flexible=0,
)
_TARGET = Layout(
    """
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag 0
    """,
    flexible=0,
)
_TARGET_MEMBER = Layout(
    """
    topicPartitions  []
      topicId        uuid
      partitions     []int32
    """,
    flexible=0,
)
_CONSUMER_GROUP_CURRENT = Layout(
    """
    memberEpoch                  int32
    previousMemberEpoch          int32
    state                        int8
    assignedPartitions           []
      topicId                    uuid
      partitions                 []int32
      assignmentEpochs           []int32  nullable tag 0
    partitionsPendingRevocation  []
      topicId                    uuid
      partitions                 []int32
      assignmentEpochs           []int32  nullable tag 0
    """,
    flexible=0,
)
_SHARE_GROUP = Layout(
    """
    epoch         int32
    metadataHash  int64
    """,
    flexible=0,
)
_SHARE_GROUP_MEMBER = Layout(
    """
    rackId                string    nullable
    clientId              string
    clientHost            string
    subscribedTopicNames  []string
    """,
    flexible=0,
)
_SHARE_GROUP_CURRENT = Layout(
    """
    memberEpoch          int32
    previousMemberEpoch  int32
    state                int8
    assignedPartitions   []
      topicId            uuid
      partitions         []int32
    """,
    flexible=0,
)
_SHARE_GROUP_PARTITIONS = Layout(
    """
    initializingTopics  []
      topicId           uuid
      topicName         string
      partitions        []int32
    initializedTopics   []
      topicId           uuid
      topicName         string
      partitions        []int32
    deletingTopics      []
      topicId           uuid
      topicName         string
    """,
    flexible=0,
)


_FORMS: Mapping[int, Form] = {
    0: Form(GroupKind.OFFSET_COMMIT, _OFFSET_KEY, _OFFSET_VALUE),
    1: Form(GroupKind.OFFSET_COMMIT, _OFFSET_KEY, _OFFSET_VALUE),
    2: Form(GroupKind.CLASSIC_GROUP, _GROUP_KEY, _CLASSIC_GROUP),
    3: Form(GroupKind.CONSUMER_GROUP, _GROUP_KEY, _CONSUMER_GROUP),
    4: Form(GroupKind.CONSUMER_GROUP_PARTITION_METADATA, _GROUP_KEY, None),
    5: Form(GroupKind.CONSUMER_GROUP_MEMBER, _MEMBER_KEY, _CONSUMER_GROUP_MEMBER),
    6: Form(GroupKind.CONSUMER_GROUP_TARGET, _GROUP_KEY, _TARGET),
    7: Form(GroupKind.CONSUMER_GROUP_TARGET_MEMBER, _MEMBER_KEY, _TARGET_MEMBER),
    8: Form(GroupKind.CONSUMER_GROUP_CURRENT, _MEMBER_KEY, _CONSUMER_GROUP_CURRENT),
    10: Form(GroupKind.SHARE_GROUP_MEMBER, _MEMBER_KEY, _SHARE_GROUP_MEMBER),
    11: Form(GroupKind.SHARE_GROUP, _GROUP_KEY, _SHARE_GROUP),
    12: Form(GroupKind.SHARE_GROUP_TARGET, _GROUP_KEY, _TARGET),
    13: Form(GroupKind.SHARE_GROUP_TARGET_MEMBER, _MEMBER_KEY, _TARGET_MEMBER),
    14: Form(GroupKind.SHARE_GROUP_CURRENT, _MEMBER_KEY, _SHARE_GROUP_CURRENT),
    15: Form(GroupKind.SHARE_GROUP_PARTITIONS, _GROUP_KEY, _SHARE_GROUP_PARTITIONS),
    16: Form(GroupKind.CONSUMER_GROUP_EXPRESSION, _EXPRESSION_KEY, None),
    17: Form(GroupKind.STREAMS_GROUP, _GROUP_KEY, None),
    19: Form(GroupKind.STREAMS_GROUP_MEMBER, _MEMBER_KEY, None),
    20: Form(GroupKind.STREAMS_GROUP_TARGET, _GROUP_KEY, None),
    21: Form(GroupKind.STREAMS_GROUP_TARGET_MEMBER, _MEMBER_KEY, None),
    22: Form(GroupKind.STREAMS_GROUP_CURRENT, _MEMBER_KEY, None),
    23: Form(GroupKind.STREAMS_GROUP_TOPOLOGY, _GROUP_KEY, None),
}


def group_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Read one record of `__consumer_offsets`. Never raises: see `unread_reason`."""
    return read_record(_FORMS, key, value)

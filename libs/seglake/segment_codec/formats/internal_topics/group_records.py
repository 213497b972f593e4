"""Records of `__consumer_offsets`: what the group coordinators keep of their groups.

The layouts below are in the order of the bytes, see `message_layout`; around them is the envelope
of `coordinator_records`. Kinds whose values have none here are named, and their values not read.

Source: apache/kafka 1eb7644, group-coordinator/src/main/resources/common/message. Values of share
and streams groups changed between releases without a new version; those that do not fit are not
read either.
"""

from collections.abc import Mapping

from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    CoordinatorRecord,
    Form,
    read_record,
)
from seglake.segment_codec.formats.internal_topics.message_layout import Layout, flexible

OFFSET_COMMIT = "offset_commit"  # a kind

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
_CONSUMER_GROUP = flexible("""
    epoch         int32
    metadataHash  int64  tag 0
""")
_CONSUMER_GROUP_MEMBER = flexible("""
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
""")
_TARGET = flexible("""
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag 0
""")
_TARGET_MEMBER = flexible("""
    topicPartitions  []
      topicId        uuid
      partitions     []int32
""")
_CONSUMER_GROUP_CURRENT = flexible("""
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
""")
_SHARE_GROUP = flexible("""
    epoch         int32
    metadataHash  int64
""")
_SHARE_GROUP_MEMBER = flexible("""
    rackId                string    nullable
    clientId              string
    clientHost            string
    subscribedTopicNames  []string
""")
_SHARE_GROUP_CURRENT = flexible("""
    memberEpoch          int32
    previousMemberEpoch  int32
    state                int8
    assignedPartitions   []
      topicId            uuid
      partitions         []int32
""")
_SHARE_GROUP_PARTITIONS = flexible("""
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
""")

_FORMS: Mapping[int, Form] = {
    0: Form(OFFSET_COMMIT, _OFFSET_KEY, _OFFSET_VALUE),
    1: Form(OFFSET_COMMIT, _OFFSET_KEY, _OFFSET_VALUE),
    2: Form("classic_group", _GROUP_KEY, _CLASSIC_GROUP),
    3: Form("consumer_group", _GROUP_KEY, _CONSUMER_GROUP),
    4: Form("consumer_group_partition_metadata", _GROUP_KEY, None),
    5: Form("consumer_group_member", _MEMBER_KEY, _CONSUMER_GROUP_MEMBER),
    6: Form("consumer_group_target_assignment", _GROUP_KEY, _TARGET),
    7: Form("consumer_group_target_assignment_member", _MEMBER_KEY, _TARGET_MEMBER),
    8: Form("consumer_group_current_assignment", _MEMBER_KEY, _CONSUMER_GROUP_CURRENT),
    10: Form("share_group_member", _MEMBER_KEY, _SHARE_GROUP_MEMBER),
    11: Form("share_group", _GROUP_KEY, _SHARE_GROUP),
    12: Form("share_group_target_assignment", _GROUP_KEY, _TARGET),
    13: Form("share_group_target_assignment_member", _MEMBER_KEY, _TARGET_MEMBER),
    14: Form("share_group_current_assignment", _MEMBER_KEY, _SHARE_GROUP_CURRENT),
    15: Form("share_group_state_partitions", _GROUP_KEY, _SHARE_GROUP_PARTITIONS),
    16: Form("consumer_group_regular_expression", _EXPRESSION_KEY, None),
    17: Form("streams_group", _GROUP_KEY, None),
    19: Form("streams_group_member", _MEMBER_KEY, None),
    20: Form("streams_group_target_assignment", _GROUP_KEY, None),
    21: Form("streams_group_target_assignment_member", _MEMBER_KEY, None),
    22: Form("streams_group_current_assignment", _MEMBER_KEY, None),
    23: Form("streams_group_topology", _GROUP_KEY, None),
}


def group_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Read one record of `__consumer_offsets`. Never raises: see `unread_reason`."""
    return read_record(_FORMS, key, value)

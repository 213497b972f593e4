"""Names of Kafka's internal topics.

Source: apache/kafka 1eb7644, Topic.isInternal and CLUSTER_METADATA_TOPIC_NAME;
TopicBasedRemoteLogMetadataManagerConfig.
"""

CLUSTER_METADATA = "__cluster_metadata"
REMOTE_LOG_METADATA = "__remote_log_metadata"
INTERNAL_TOPICS = frozenset(
    {
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        CLUSTER_METADATA,
        REMOTE_LOG_METADATA,
    }
)


def is_internal_topic(topic: str) -> bool:
    """Return whether a topic is one of Kafka's; a user's topic may also begin with `__`.

    >>> is_internal_topic("__consumer_offsets"), is_internal_topic("orders")
    (True, False)
    """
    return topic in INTERNAL_TOPICS

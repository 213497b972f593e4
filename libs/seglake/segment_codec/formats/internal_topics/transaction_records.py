"""Records of `__transaction_state`: what the transaction coordinators keep of each producer.

The layouts below are in the order of the bytes, see `message_layout`; around them is the envelope
of `coordinator_records`.

Source: apache/kafka 1eb7644, transaction-coordinator/src/main/resources/common/message and
TransactionState.java.
"""

from collections.abc import Mapping

from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    CoordinatorRecord,
    Form,
    read_record,
)
from seglake.segment_codec.formats.internal_topics.message_layout import Layout

STATUS_NAMES = (
    "empty",
    "ongoing",
    "prepare_commit",
    "prepare_abort",
    "complete_commit",
    "complete_abort",
    "dead",
    "prepare_epoch_fence",
)

_VALUE = Layout(
    """
    producerId                        int64
    previousProducerId                int64    1+ tag 0
    nextProducerId                    int64    1+ tag 1
    producerEpoch                     int16
    nextProducerEpoch                 int16    1+ tag 3
    transactionTimeoutMs              int32
    transactionStatus                 int8
    transactionPartitions             []       nullable
      topic                           string
      partitionIds                    []int32
    transactionLastUpdateTimestampMs  int64
    transactionStartTimestampMs       int64
    clientTransactionVersion          int16    1+ tag 2
    """,
    newest=1,
    flexible=1,
)
_FORMS: Mapping[int, Form] = {0: Form("transaction", Layout("transactionalId  string"), _VALUE)}


def transaction_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Read one record of `__transaction_state`. Never raises: see `unread_reason`."""
    return read_record(_FORMS, key, value)

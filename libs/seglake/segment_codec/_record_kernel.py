"""The compiled decoder of records of magic 2; its slow twin is `reference_decoder`."""

import numpy as np

from seglake.segment_codec._kernel_parts import (
    HEADER_COUNT,
    HEADER_KEY_LENGTH,
    HEADER_VALUE_LENGTH,
    KEY_LENGTH,
    OFFSET_DELTA,
    OK,
    RECORD_LENGTH,
    RECORD_REST,
    TOO_FEW_RECORDS,
    TOO_MANY_BYTES,
    VALUE_LENGTH,
    VARINT,
    Array,
    Int,
    compiled,
    copy,
    set_view,
    varint,
    varlong,
)


@compiled
def decode_records(
    data: Array,
    starts: Array,
    stops: Array,
    base_offsets: Array,
    base_timestamps: Array,
    last_deltas: Array,
    counts: Array,
    floors: Array,
    ceilings: Array,
    statuses: Array,
    row_stops: Array,
    offsets: Array,
    timestamps: Array,
    key_views: Array,
    has_key: Array,
    value_views: Array,
    has_value: Array,
    header_stops: Array,
    name_stops: Array,
    names: Array,
    header_value_stops: Array,
    header_values: Array,
    has_header_value: Array,
) -> int:
    """Decode the records of batches of magic 2.

    data (n,) holds the plain records of batch i at [starts[i], stops[i]). Rows outside
    [floors[i], ceilings[i]) are checked and not written. statuses (b,) and row_stops (b,) are
    written for each batch; a batch with a status gives no rows. header_stops (rows + 1,),
    name_stops and header_value_stops (headers + 1,) are running ends, with 0 in front.
    Returns 0, or -1 when there are more headers than has_header_value has room for.
    """
    row = 0
    headers = 0
    names_at = 0
    values_at = 0
    header_stops[0] = 0
    name_stops[0] = 0
    header_value_stops[0] = 0
    for i in range(starts.shape[0]):
        first_row, first_header, first_name, first_value = row, headers, names_at, values_at
        p = starts[i]
        stop = stops[i]
        status = OK
        delta_before: Int = np.int64(-1)
        for _ in range(counts[i]):
            if p == stop:
                status = TOO_FEW_RECORDS
                break
            length, p = varint(data, p, stop)
            if p < 0:
                status = VARINT
                break
            if length < 6 or length > stop - p:
                status = RECORD_LENGTH
                break
            end = p + length
            p += 1  # attributes: none is defined, Kafka does not look either
            timestamp_delta, p = varlong(data, p, end)
            if p < 0:
                status = VARINT
                break
            delta, p = varint(data, p, end)
            if p < 0:
                status = VARINT
                break
            if delta <= delta_before or delta > last_deltas[i]:
                status = OFFSET_DELTA
                break
            delta_before = delta
            key_length, p = varint(data, p, end)
            if p < 0:
                status = VARINT
                break
            if key_length > end - p:
                status = KEY_LENGTH
                break
            key_at = p
            p += max(key_length, 0)
            value_length, p = varint(data, p, end)
            if p < 0:
                status = VARINT
                break
            if value_length > end - p:
                status = VALUE_LENGTH
                break
            value_at = p
            p += max(value_length, 0)
            header_count, p = varint(data, p, end)
            if p < 0:
                status = VARINT
                break
            if header_count < 0 or header_count > end - p:
                status = HEADER_COUNT
                break
            offset = base_offsets[i] + delta
            is_wanted = floors[i] <= offset < ceilings[i]
            if is_wanted and headers + header_count > has_header_value.shape[0]:
                return -1
            for _h in range(header_count):
                name_length, p = varint(data, p, end)
                if p < 0:
                    status = VARINT
                    break
                if name_length < 0 or name_length > end - p:
                    status = HEADER_KEY_LENGTH
                    break
                name_at = p
                p += name_length
                length, p = varint(data, p, end)
                if p < 0:
                    status = VARINT
                    break
                if length > end - p:
                    status = HEADER_VALUE_LENGTH
                    break
                if is_wanted:
                    copy(names, names_at, data, name_at, name_length)
                    names_at += name_length
                    has_header_value[headers] = length >= 0
                    if length > 0:
                        copy(header_values, values_at, data, p, length)
                        values_at += length
                    headers += 1
                    name_stops[headers] = names_at
                    header_value_stops[headers] = values_at
                p += max(length, 0)
            if status != OK:
                break
            if p != end:
                status = RECORD_REST
                break
            if is_wanted:
                offsets[row] = offset
                timestamps[row] = base_timestamps[i] + timestamp_delta
                has_key[row] = key_length >= 0
                set_view(key_views, row, data, key_at, max(key_length, 0))
                has_value[row] = value_length >= 0
                set_view(value_views, row, data, value_at, max(value_length, 0))
                row += 1
                header_stops[row] = headers
        if status == OK and p != stop:
            status = TOO_MANY_BYTES
        if status != OK:
            row, headers, names_at, values_at = first_row, first_header, first_name, first_value
        statuses[i] = status
        row_stops[i] = row
    return 0

"""What the compiled loops answer for each unit. Values; numba is not needed for them."""

# A helper that reads returns the index after what it read, or minus one of these.
OK = 0
VARINT = 1
RECORD_LENGTH = 2
OFFSET_DELTA = 3
KEY_LENGTH = 4
VALUE_LENGTH = 5
HEADER_COUNT = 6
HEADER_KEY_LENGTH = 7
HEADER_VALUE_LENGTH = 8
RECORD_REST = 9
TOO_FEW_RECORDS = 10
TOO_MANY_BYTES = 11
INNER_CRC = 12
NESTED = 13
INNER_SIZE = 14
INNER_CUT = 15
INNER_MAGIC = 16
MESSAGE_LENGTHS = 17
INNER_OFFSETS = 18
WRAPPER_OFFSET = 19
REPEATED_OFFSETS = 20

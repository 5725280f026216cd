"""Facts about operations and blocks that plans, sessions and reports share: one definition each."""

WRITES = ("write", "append")
"""Operations that carry data to the target."""
MOVES_DATA = ("read", *WRITES)
"""Operations that carry data at all."""
LARGE_BLOCK_BYTES = 64 * 1024
"""From this block size on, I/O is headlined in MB/s, smaller I/O in IOPS, as data sheets do."""

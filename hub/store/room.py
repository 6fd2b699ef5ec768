"""Is there room to write? A small write that is really committed, and taken back.

An update in place may succeed on a full disk where nothing new fits any more; so something new is
written. Called after a failure only: by the writer, and by callers that want to know if it is over.
"""

import os
from typing import Final

from hub.store import settings
from hub.store.transaction import Transaction

ROW: Final = "room"
BYTES: Final = 64 << 10


def fill(tx: Transaction) -> None:
    """Write `BYTES` that can not be packed. Enters no feed."""
    settings.put(tx, ROW, os.urandom(BYTES // 2).hex())
    tx.touched.clear()


def clear(tx: Transaction) -> None:
    """Take them away again."""
    settings.remove(tx, ROW)
    tx.touched.clear()


STEPS: Final = (fill, clear)  # each in a separate transaction

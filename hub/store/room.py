"""Is there room to write? A small write that is really committed, and taken back.

An update in place may succeed on a full disk where nothing new fits any more; so something new is
written. Asked after a failure only: by the writer, and by whoever wants to know if it is over.
"""

import os
from typing import Final

from hub.store import settings
from hub.store.unit import Unit

ROW: Final = "room"
BYTES: Final = 64 << 10


def fill(unit: Unit) -> None:
    """Write `BYTES` that can not be packed. Enters no feed."""
    settings.put(unit, ROW, os.urandom(BYTES // 2).hex())
    unit.touched.clear()


def clear(unit: Unit) -> None:
    """Take them away again."""
    settings.remove(unit, ROW)
    unit.touched.clear()


STEPS: Final = (fill, clear)  # each in a transaction of its own

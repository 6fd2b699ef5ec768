"""Child processes that end with the one that started them, however that happens (Linux)."""

import ctypes
import os
import signal
import sys
from typing import Final

PARENT: Final = "ROADSTEAD_PARENT"  # the environment variable with the parent's process id
_PR_SET_PDEATHSIG: Final = 1


def die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the parent ends. Exits at once if it has ended already.

    A parent that puts its process id into `PARENT` is missed however early it ended: the imports of
    a child take a second and more. Raises OSError where the kernel refuses.
    """
    parent = int(os.environ.get(PARENT) or os.getppid())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:  # it ended before we asked
        sys.exit(0)

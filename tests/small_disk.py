"""Small file systems of their own, on which a disk is soon full."""

import os
import shutil
import subprocess
from typing import Final

# As root without a user of its own, so that root's rights to other files stay.
UNSHARE: Final = ("unshare", "-m" if os.geteuid() == 0 else "-rm")


def can_mount() -> bool:
    """Whether a test can have one here."""
    if shutil.which("unshare") is None:
        return False
    command = [*UNSHARE, "mount", "-t", "tmpfs", "small", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0

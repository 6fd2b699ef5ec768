"""Does the database answer at all? A server that is stopped keeps its connections open and is silent.

No timeout of the server's helps then, and none of TCP's: its kernel acknowledges what is sent. So the
follower, which asks the server something small each second, notes what has no answer yet. Once that lasts
`SILENT_S`, the hub is not ready, refuses new requests at once, and stops waiting for those under way. The
writer notes its commits in the same way: a server may answer questions and commit nothing.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Final

SILENT_S: Final = 4.0
# A call that fails sooner was answered, if only by a refusal: the next call gets it at once.
_QUICK_S: Final = 2.0


class SilenceWatch:
    """Start of the call that the database has not answered. One thread writes it, any thread reads it."""

    def __init__(self) -> None:
        self._since: float | None = None

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Context of a call that waits for the server."""
        began = time.monotonic()
        if self._since is None:
            self._since = began
        try:
            yield
        except Exception:
            if time.monotonic() - began < _QUICK_S:
                self._since = None
            raise
        self._since = None

    def silent_s(self) -> float:
        """Seconds of silence of the database; 0.0 while it answers."""
        since = self._since
        silent = 0.0 if since is None else time.monotonic() - since
        return silent if silent >= SILENT_S else 0.0

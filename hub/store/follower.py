"""Hears of what other hubs commit to the same database, and learns what time the database says it is.

A notification arrives at once; a lost one costs `EVERY_S`, because the feed is polled anyway.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from sqlalchemy import Connection

from hub.store.backends.backend import Backend, Feed, Learn
from hub.store.errors import LeftBehind
from hub.store.silence import SilenceWatch

EVERY_S: Final = 1.0
_log = structlog.get_logger(__name__)


class Follower:
    """A thread. `found(conn, revision)` reads and tells what is new, if `revision` (0: any) is not yet."""

    def __init__(
        self, backend: Backend, found: Callable[[Connection, int], None], learn: Learn | None
    ) -> None:
        self.silence = SilenceWatch()
        self._backend = backend
        self._found = found
        self._learn = learn
        self._feed: Feed | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        feed = self._feed
        if feed is not None:
            feed.interrupt()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self.silence.asking():
                    self._feed = self._backend.open_feed()
                while self._feed is not None and not self._stopping.is_set():
                    self._follow(self._feed)
            except LeftBehind:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the next connection may do better
                if not self._stopping.is_set():
                    _log.warning("feed of the database lost", fault=f"{error!r}"[:300])
                    self._stopping.wait(EVERY_S)
            finally:
                if self._feed is not None:
                    self._feed.close()
                    self._feed = None

    def _follow(self, feed: Feed) -> None:
        """One pass: stopped sessions, the time, then new revisions, until there are none or time is up."""
        ends_at = time.monotonic() + EVERY_S
        with self.silence.asking():
            feed.end_stopped()
            if self._learn is not None:
                self._learn(self._backend.now(feed.connection))
            self._found(feed.connection, 0)
        while revision := feed.wait(EVERY_S):
            with self.silence.asking():
                self._found(feed.connection, revision)
            if time.monotonic() >= ends_at:
                return

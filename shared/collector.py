"""Configures Python's cycle collector for this project's processes.

Manifests and rows are trees without cycles; reference counting frees them. Left as it is, the
collector walks imported modules and whole caches over and over: half of the CPU that a job costs.
"""

import contextlib
import gc
from collections.abc import Iterator


def spare_the_collector() -> None:
    """Leave what exists out of collections, and collect rarely. Call once, before serving."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Build something large that stays, without its being walked again and again, then or later.

    Walking a million rows stops every thread for a second. Objects built here must have no cycles: only
    their last reference frees them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
        gc.freeze()

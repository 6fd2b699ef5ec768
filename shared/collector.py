"""How this project's processes set Python's cycle collector.

Manifests and rows are trees without cycles; reference counting frees them. Left as it is, the
collector walks imported modules and whole caches over and over: half of the CPU that a job costs.
"""

import gc


def spare_the_collector() -> None:
    """Leave what exists out of collections, and collect rarely. Call once, before serving."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)

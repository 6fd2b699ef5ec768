"""What a process that runs simulated clusters sets for itself."""

import gc


def calm_collector() -> None:
    """Let the cycle collector look rarely: objects of a cluster are many, live long, have no cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)

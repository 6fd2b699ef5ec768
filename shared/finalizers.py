"""Finalizers of an object: which it has, and the patches that change them."""

from collections.abc import Iterable

from shared.documents import Json


def finalizers_of(live: Json) -> list[str]:
    """Its finalizers, in order."""
    return list(live["metadata"].get("finalizers") or ())


def patch(live: Json, finalizers: Iterable[str]) -> Json:
    """A merge patch that sets the finalizers of exactly this object in exactly this version."""
    metadata = live["metadata"]
    mine = {"uid": metadata["uid"], "resourceVersion": metadata.get("resourceVersion")}
    return {"metadata": {**mine, "finalizers": list(finalizers)}}


def without(live: Json, finalizer: str) -> Json:
    """The merge patch that takes one finalizer off this very version of the object."""
    return patch(live, (each for each in finalizers_of(live) if each != finalizer))

"""A namespaced placement on the hub cluster, and the kinds that a test of it follows."""

from typing import Any

from hub.bridge.kinds import NAMESPACE, Mirrored
from shared.groups import PLACEMENT
from tests.bridge.crossings import Turns
from tests.bridge.parts import Parts

OF_NAMESPACE = Mirrored(PLACEMENT, "ResourcePlacement", ("v1beta1",), finalized=True, order=9)
KINDS = (NAMESPACE, OF_NAMESPACE)


def a_placement(*kinds: str) -> dict[str, Any]:
    """Of the objects `one` of these core kinds."""
    selectors = [{"group": "", "version": "v1", "kind": each, "name": "one"} for each in kinds]
    return {
        "apiVersion": f"{PLACEMENT}/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": "one", "namespace": "lab"},
        "spec": {"resourceSelectors": selectors},
    }


async def taken(turns: Turns, it: Parts, made: dict[str, Any]) -> bool:
    """One turn inward; is it stored now?"""
    await turns.take()
    return await it.object(made) is not None

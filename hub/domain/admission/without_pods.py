"""Pod sets of no pods: they fit any flavor, and prefer one with room for a pod, as in Kueue 0.20.

A Job whose parallelism is 0 keeps its flavor when it grows.
"""

from collections.abc import Mapping, Sequence

from hub.domain.fleet.free_capacity import PODS
from shared.resources import PodSet


def has_room_for_one(
    pod_sets: Sequence[PodSet], room: Mapping[str, int], taken: Mapping[str, int]
) -> bool:
    """Would one pod of each fit what is left of `room`? True where there are pods: those count.

    `room` and `taken` (by pod sets before) are by resource, of one flavor.
    """
    if any(pod_set.count for pod_set in pod_sets):
        return True
    return all(
        taken[resource] + sum(_of_one(pod_set, resource) for pod_set in pod_sets) <= free
        for resource, free in room.items()
    )


def _of_one(pod_set: PodSet, resource: str) -> int:
    return pod_set.requests.get(resource, 1 if resource == PODS else 0)

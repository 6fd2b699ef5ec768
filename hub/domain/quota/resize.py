"""Another number of pods for a workload that is admitted: what is charged for, and what is still wanted.

Fewer pods free quota once the member has said that the others are gone; more are charged for the
difference alone, under the same flavors and in the same cluster, once quota and room for all of it are
there. Admissions are
as `workloads.admission` keeps them; those of one pod set, since only Jobs change their size.
"""

from dataclasses import dataclass
from typing import Final

from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.workloads.reclaimable_pods import GIVEN_BACK, charged_for
from shared.documents import Json, JsonView
from shared.resources import PodSet, Resources

Admission = JsonView
SMALLER: Final = "WaitingToGrow"  # reason of a job that runs with fewer pods than wanted
_SIZED: Final = frozenset({"reduced", "wanted", "shrinks"})


@dataclass(frozen=True, slots=True)
class MissingPods:
    """What a workload that runs smaller than wanted still needs: pods of one kind, and quota."""

    pods: int
    charge: Usage


def smaller(have: int, wanted: int) -> str:
    """What a job says that runs smaller than wanted."""
    return f"runs with {have} of {wanted} pods until there is quota and room for the others"


def size(admission: Admission) -> int:
    """How many pods are admitted at a time."""
    return int(admission["podSets"][0]["count"])


def resized(admission: Admission, pod_set: PodSet, *, left: int, told: bool) -> Json:
    """The admission of what shall have the size of `pod_set`: more as a wish, less at once.

    Where a member was `told` of it, what it frees stays charged until `shrunk`. Every size is charged
    for the `left` pods that are still to run, at most.
    """
    given = charged_for(admission["podSets"][0], left)
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    if pod_set.count <= given["count"]:
        less = charged_for({"count": pod_set.count, "usage": _usage(given, pod_set)}, left)
        if told and pod_set.count < given["count"]:
            return {**bare, "podSets": [given], "shrinks": less}
        return {**bare, "podSets": [_with_size(given, less)]}
    wanted = charged_for({"count": pod_set.count, "usage": _usage(given, pod_set)}, left)
    return {**bare, "podSets": [given], "reduced": True, "wanted": wanted}


def growth(admission: Admission) -> MissingPods | None:
    """What it needs to reach the size it is wanted in; None if it has that."""
    wanted = admission.get("wanted")
    if not wanted:
        return None
    (given,) = admission["podSets"]
    flavors, had = given["flavors"], given["usage"]
    charge = {
        FlavorResource(flavors[name], name): amount - had.get(name, 0)
        for name, amount in wanted["usage"].items()
        if amount > had.get(name, 0)
    }
    return MissingPods(wanted["count"] - given["count"], charge)


def shrunk(admission: Admission) -> Json:
    """The admission once the pods that are too many are gone."""
    (given,) = admission["podSets"]
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    return {**bare, "podSets": [_with_size(given, admission["shrinks"])]}


def grown(admission: Admission) -> Json:
    """The admission once the whole difference is charged."""
    (given,) = admission["podSets"]
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    return {**bare, "podSets": [_with_size(given, admission["wanted"])]}


def _with_size(given: JsonView, sized: JsonView) -> Json:
    return {**{k: v for k, v in given.items() if k not in GIVEN_BACK}, **sized}


def _usage(given: JsonView, pod_set: PodSet) -> dict[str, int]:
    """What is charged for all pods: the resources that were charged before, in the new number."""
    return {name: _of_one(pod_set.requests, name) * pod_set.count for name in given["usage"]}


def _of_one(requests: Resources, name: str) -> int:
    return requests.get(name, 1 if name == "pods" else 0)

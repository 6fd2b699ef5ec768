"""Another number of pods for a workload that is admitted: what is charged for, and what is still wanted.

Fewer pods free quota once the member has said that the others are gone; more are charged for the
difference alone, under the same flavors and in the same cluster, once quota and room for all of it are
there. Admissions are as `workloads.admission` keeps them.

A Job has one pod set. An object of another kind may have several, which one number multiplies: they grow
and shrink together, and `wanted` and `shrinks` have `podSets`, in the order of the admission.
"""

from collections.abc import Sequence
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
    """What a workload that runs smaller than wanted still needs: pods of each pod set, and quota."""

    pods: tuple[int, ...]
    charge: Usage


def smaller(have: int, wanted: int) -> str:
    """The message of a job that runs smaller than wanted."""
    return f"runs with {have} of {wanted} pods until there is quota and room for the others"


def size(admission: Admission) -> int:
    """The number of pods that are admitted at a time."""
    return sum(int(each["count"]) for each in admission["podSets"])


def resized(admission: Admission, pod_set: PodSet, *, left: int, told: bool) -> Json:
    """The admission of what shall have the size of `pod_set`: more as a wish, less at once.

    If a member received (`told`) the change, the freed amount stays charged until `shrunk`. Every size is
    charged
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


def rescaled(admission: Admission, pod_sets: Sequence[PodSet], *, told: bool) -> Json:
    """The same of several pod sets that one number multiplies; `pod_sets`: those of the new manifest.

    Nothing of a service is given back before it shrinks.
    """
    by_name = {each.name: each for each in pod_sets}
    given = admission["podSets"]
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    each_sized: list[Json] = [
        {"count": new.count, "usage": _usage(old, new)}
        for old, new in ((each, by_name[each["name"]]) for each in given)
    ]
    whole = {"count": sum(each["count"] for each in each_sized), "podSets": each_sized}
    if whole["count"] > size(admission):
        return {**bare, "podSets": given, "reduced": True, "wanted": whole}
    if told and whole["count"] < size(admission):
        return {**bare, "podSets": given, "shrinks": whole}
    return {**bare, "podSets": _all_with_size(given, whole)}


def growth(admission: Admission) -> MissingPods | None:
    """The missing amount up to its wanted size; None if it has that."""
    wanted = admission.get("wanted")
    if not wanted:
        return None
    charge: dict[FlavorResource, int] = {}
    pods = []
    for given, sized in zip(admission["podSets"], _each(wanted), strict=True):
        flavors, had = given["flavors"], given["usage"]
        pods.append(sized["count"] - given["count"])
        for name, amount in sized["usage"].items():
            if amount > had.get(name, 0):
                of = FlavorResource(flavors[name], name)
                charge[of] = charge.get(of, 0) + amount - had.get(name, 0)
    return MissingPods(tuple(pods), charge)


def shrunk(admission: Admission) -> Json:
    """The admission once the pods that are too many are gone."""
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    return {**bare, "podSets": _all_with_size(admission["podSets"], admission["shrinks"])}


def grown(admission: Admission) -> Json:
    """The admission once the whole difference is charged."""
    bare = {key: value for key, value in admission.items() if key not in _SIZED}
    return {**bare, "podSets": _all_with_size(admission["podSets"], admission["wanted"])}


def _each(sized: JsonView) -> Sequence[JsonView]:
    """The size of each pod set."""
    found: Sequence[JsonView] = sized.get("podSets") or [sized]
    return found


def _all_with_size(given: Sequence[JsonView], sized: JsonView) -> list[Json]:
    return [_with_size(one, new) for one, new in zip(given, _each(sized), strict=True)]


def _with_size(given: JsonView, sized: JsonView) -> Json:
    return {**{k: v for k, v in given.items() if k not in GIVEN_BACK}, **sized}


def _usage(given: JsonView, pod_set: PodSet) -> dict[str, int]:
    """What is charged for all pods: the resources that were charged before, in the new number."""
    return {name: _of_one(pod_set.requests, name) * pod_set.count for name in given["usage"]}


def _of_one(requests: Resources, name: str) -> int:
    return requests.get(name, 1 if name == "pods" else 0)

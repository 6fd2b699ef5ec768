"""Reclaimable pods: a running workload gives back the quota of pods that it does not need any more.

Kueue's dynamic reclaim (`status.reclaimablePods`): counts only ever grow while the workload is admitted.
"""

from collections.abc import Mapping
from typing import Final

from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

Admission = JsonView
GIVEN_BACK: Final = frozenset({"whole", "reclaimed"})  # fields of a pod set that gave pods back


def reclaimed(admission: Admission, counts: Mapping[str, int]) -> Json:
    """The admission that is left once `counts` pods per pod set are not needed any more.

    Each pod set keeps what it was admitted with as `whole`. Raises Rejected: UnknownPodSet, OutOfRange
    for more pods than there are, Immutable for fewer than were given back before.
    """
    pod_sets = {p["name"]: p for p in admission["podSets"]}
    for name, count in counts.items():
        if name not in pod_sets:
            raise Rejected(
                RejectCode.UNKNOWN_POD_SET, f"there is no pod set {name[:64]}", "reclaimablePods"
            )
        if count > pod_sets[name]["count"]:
            raise Rejected(
                RejectCode.OUT_OF_RANGE, f"{name} has fewer pods than {count}", "reclaimablePods"
            )
        if count < pod_sets[name].get("reclaimed", 0):
            text = f"{name}: reclaimable pods cannot shrink"
            raise Rejected(RejectCode.IMMUTABLE, text, "reclaimablePods")
    left = [_less(p, counts.get(p["name"], 0)) for p in admission["podSets"]]
    return {**admission, "podSets": left}


def pods_left(count: int, completions: int | None, succeeded: int) -> int:
    """The number of pods that a Job of `count` pods at a time is still to run: Kueue's arithmetic.

    A Job without completions starts no pod once one has succeeded.
    """
    return max(0, (count if completions is None else completions) - succeeded)


def without_done_pods(admission: Admission, completions: int | None, succeeded: int) -> Json:
    """A Job's admission once `succeeded` pods will not be replaced; `reclaimed` never falls.

    Sizes that it is to have later (`shrinks` and `wanted` of `resize`) are charged alike.
    """
    (given,) = admission["podSets"]
    left = pods_left(given["count"], completions, succeeded)
    if given["count"] - left <= given.get("reclaimed", 0) or given["count"] == 1:
        return dict(admission)
    later = {
        name: charged_for(admission[name], left)
        for name in ("shrinks", "wanted")
        if name in admission
    }
    return {**admission, "podSets": [charged_for(given, left)], **later}


def charged_for(pod_set: JsonView, left: int) -> Json:
    """A pod set that is charged for at most `left` of its pods; one pod is charged to its end."""
    kept = {name: value for name, value in pod_set.items() if name not in GIVEN_BACK}
    kept["usage"] = pod_set.get("whole", pod_set["usage"])
    given_back = pod_set["count"] - left
    return _less(kept, given_back) if given_back > 0 and pod_set["count"] > 1 else kept


def _less(pod_set: JsonView, count: int) -> Json:
    """One pod set with `count` of its pods given back."""
    if not count:
        return dict(pod_set)
    whole, pods = pod_set.get("whole", pod_set["usage"]), pod_set["count"]
    usage = {name: -(-amount * (pods - count) // pods) for name, amount in whole.items()}
    return {**pod_set, "usage": usage, "whole": whole, "reclaimed": count}

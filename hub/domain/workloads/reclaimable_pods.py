"""Reclaimable pods: a running workload gives back the quota of pods that it does not need any more.

Kueue's dynamic reclaim (`status.reclaimablePods`): counts only ever grow while the workload is admitted.
"""

from collections.abc import Mapping

from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

Admission = JsonView


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
            text = f"{name}: pods that were given back can not be taken back"
            raise Rejected(RejectCode.IMMUTABLE, text, "reclaimablePods")
    left = [_less(p, counts.get(p["name"], 0)) for p in admission["podSets"]]
    return {**admission, "podSets": left}


def _less(pod_set: JsonView, count: int) -> Json:
    """One pod set with `count` of its pods given back."""
    if not count:
        return dict(pod_set)
    whole, pods = pod_set.get("whole", pod_set["usage"]), pod_set["count"]
    usage = {name: -(-amount * (pods - count) // pods) for name, amount in whole.items()}
    return {**pod_set, "usage": usage, "whole": whole, "reclaimed": count}

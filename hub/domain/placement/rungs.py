"""A rung of a placement's ladder of conditions; the first, and what overrides say. Pure."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from shared.conditions import Condition, find, remove, set_condition
from shared.consent import NOT_ACCEPTED
from shared.documents import Json, JsonView

Status = Literal["True", "False", "Unknown"]
_NO_OVERRIDES: Final = "No override rules are configured for the selected resources"
BY_RUNS: Final = "RolloutControlledByExternalController"  # KubeFleet's reason
_MOST_OVERRIDES: Final = 3  # named in a message
_MOST_REFUSALS: Final = 3


class Rung(NamedTuple):
    """One condition without its time."""

    type: str
    status: Status
    reason: str
    message: str


def scheduled(found: int, wanted: int | None, why: str = "") -> Rung:
    """The first rung from the number of clusters found; `wanted` None is as many as match."""
    if wanted is None or found >= wanted:
        text = (
            "found all cluster needed as specified by the scheduling policy, "
            f"found {found} cluster(s)"
        )
        text = f"{text}: {why}" if why else text
        return Rung("Scheduled", "True", "SchedulingPolicyFulfilled", text)
    text = (
        "could not find all clusters needed as specified by the scheduling policy, "
        f"found {found} cluster(s) instead of {wanted}"
    )
    if why:
        text = f"{text}: {why}"
    return Rung("Scheduled", "False", "SchedulingPolicyUnfulfilled", text)


def placed_by_queue(found: int, jobs: Sequence[str]) -> Rung:
    """The first rung where Jobs had their cluster before they were selected: no policy chose it."""
    few = ", ".join(jobs[:3]) + (f" and {len(jobs) - 3} more" if len(jobs) > 3 else "")
    text = (
        f"found {found} cluster(s); Job(s) {few} went where their queue's profile put them, before "
        "this placement selected them: its policy did not choose, which it does where a placement "
        "selects their ClusterQueue"
    )
    return Rung("Scheduled", "True", "PlacedByQueue", text)


def left_to_queue(found: int, jobs: Sequence[str]) -> Rung:
    """The first rung where selected Jobs wait in queues that no placement selects."""
    few = ", ".join(jobs[:3]) + (f" and {len(jobs) - 3} more" if len(jobs) > 3 else "")
    text = (
        f"found {found} cluster(s); Job(s) {few} wait for their queue to choose a cluster: a placement "
        "chooses it only where a placement selects their ClusterQueue"
    )
    return Rung("Scheduled", "True", "PlacedByQueue", text)


def unscheduled(reason: str, message: str) -> Rung:
    """The first rung of a placement that can not be carried out as it is written."""
    return Rung("Scheduled", "False", reason, message)


def given_by_run(index: str, driven: str) -> Rung:
    """True if a staged update run has updated a cluster: version `index`, "" for none."""
    if index:
        text = f"A staged update run gave it version {index}"
        return Rung("RolloutStarted", "True", "RolloutStarted", text)
    text = f"No staged update run has updated it yet: {driven}"
    return Rung("RolloutStarted", "Unknown", BY_RUNS, text)


def given_by_runs(indexes: Sequence[str], newest: str, driven: str, left: str) -> Rung:
    """The same over all clusters: True where all have one version; else the run says how far it is.

    `driven`: which run gives what now, in words; `left`: the objects that are still to be withdrawn.
    """
    counts = Counter(indexes)
    if len(counts) == 1 and "" not in counts:
        (index,) = counts
        more = f"; the newest, {newest}, waits for a run" if index != newest else ""
        text = f"All {len(indexes)} cluster(s) received version {index}{more}{left}"
        return Rung("RolloutStarted", "True", "RolloutStarted", text)
    told = [
        f"{count} have {f'version {index}' if index else 'nothing'}"
        for index, count in sorted(counts.items())
    ]
    text = f"Staged update runs give the versions: {', '.join(told)}; {driven}{left}"
    return Rung("RolloutStarted", "Unknown", BY_RUNS, text)


def begun(index: str, held: str, closed: str) -> Rung:
    """Tell if a cluster was given the newest version. `index`: of the one it has; `held`: why not the newest.

    `closed`: why its member takes nothing new.
    """
    if not held:
        text = "Detected the new changes on the resources and started the rollout process"
        return Rung("RolloutStarted", "True", "RolloutStarted", text)
    has = f"it has version {index}" if index else "it has received nothing yet"
    if closed:
        text = f"The newest version is not rolled out here, {has}: {closed}"
        return Rung("RolloutStarted", "False", NOT_ACCEPTED, text)
    text = f"The rollout is held back by the rollout strategy, {has}: {held}"
    return Rung("RolloutStarted", "False", "RolloutNotStartedYet", text)


def all_begun(clusters: int, held: Sequence[tuple[str, str]], closed: int, left: str) -> Rung:
    """The same over all clusters. `held`: those that have not the newest, and why; `closed`: in how many of
    them the member's people do not accept the hub; `left`: where objects still go.
    """
    if not held:
        text = f"All {clusters} cluster(s) start rolling out the latest resource{left}"
        return Rung("RolloutStarted", "True", "RolloutStarted", text)
    by, reason = "held back by the rollout strategy", "RolloutNotStartedYet"
    if closed == len(held):
        by, reason = "not accepted", NOT_ACCEPTED
    first, why = held[0]
    text = (
        f"The rollout is {by} in {len(held)} of {clusters} cluster(s), first {first}: {why}{left}"
    )
    return Rung("RolloutStarted", "False", reason, text)


def not_accepted(text: str) -> Rung:
    """Said of a cluster whose member takes nothing new."""
    return Rung(NOT_ACCEPTED, "True", NOT_ACCEPTED, f"it keeps its objects: {text}")


def with_refusals(
    conditions: Sequence[Condition] | None,
    refusals: Mapping[str, str],
    generation: int,
    now: dt.datetime,
) -> list[Condition]:
    """A placement's conditions with `NotAccepted` while clusters miss something, else without it.

    `refusals`: by cluster, in words.
    """
    if not refusals:
        return remove(conditions, NOT_ACCEPTED)
    told = [refusals[name] for name in sorted(refusals)]
    more = len(told) - _MOST_REFUSALS
    text = "; ".join(told[:_MOST_REFUSALS]) + (f"; and {more} more" if more > 0 else "")
    return set_condition(conditions, NOT_ACCEPTED, "True", NOT_ACCEPTED, text, now, generation)


def overridden(fault: str, overrides: Sequence[JsonView], left_out: Sequence[str]) -> Rung:
    """The result of overrides on the newest version for one cluster.

    `fault`: why they made nothing; `left_out`: those that name Jobs, which are sent as they are.
    """
    if fault:
        return Rung("Overridden", "False", "OverriddenFailed", fault)
    if left_out:
        return _left_out(left_out)
    if not overrides:
        return Rung("Overridden", "True", "NoOverrideSpecified", _NO_OVERRIDES)
    named = [_named(each) for each in overrides]
    text = f"Successfully applied the override rules on the resources: {_few(named)}"
    return Rung("Overridden", "True", "OverriddenSucceeded", text)


def all_overridden(faults: Mapping[str, str], count: int, left_out: Sequence[str]) -> Rung:
    """The same over all clusters. `faults`: by cluster; `count`: how many are given something overridden."""
    if faults:
        first = min(faults)
        text = f"overrides can not be applied in {len(faults)} cluster(s), first {first}: "
        return Rung("Overridden", "False", "OverriddenFailed", text + faults[first])
    if left_out:
        return _left_out(left_out)
    if not count:
        return Rung("Overridden", "True", "NoOverrideSpecified", _NO_OVERRIDES)
    text = f"Successfully applied the override rules on the resources in {count} cluster(s)"
    return Rung("Overridden", "True", "OverriddenSucceeded", text)


def applicable(overrides: Sequence[JsonView]) -> Json:
    """The overrides of what a cluster was given, as KubeFleet's status names them."""
    whole = [each["name"] for each in overrides if not each["namespace"]]
    own = [
        {"name": each["name"], "namespace": each["namespace"]}
        for each in overrides
        if each["namespace"]
    ]
    told: Json = {"applicableClusterResourceOverrides": whole} if whole else {}
    return told | ({"applicableResourceOverrides": own} if own else {})


def _left_out(overrides: Sequence[str]) -> Rung:
    text = f"{_few(overrides)}: Jobs are not overridden; the hub sends them unchanged"
    return Rung("Overridden", "False", "OverridesNotSupported", text)


def _few(named: Sequence[str]) -> str:
    more = len(named) - _MOST_OVERRIDES
    return ", ".join(named[:_MOST_OVERRIDES]) + (f" and {more} more" if more > 0 else "")


def _named(each: JsonView) -> str:
    where = f"{each['namespace']}/" if each["namespace"] else ""
    return f"{each['kind']} {where}{each['name']}"


def timed(
    rungs: Sequence[Rung],
    before: Sequence[Condition] | None,
    generation: int,
    now: dt.datetime,
) -> list[Condition]:
    """Conditions in the order of the rungs."""
    made: list[Condition] = []
    for rung in rungs:
        old = find(before, rung.type)
        known = [dict(old)] if old is not None else []
        made += set_condition(
            known, rung.type, rung.status, rung.reason, rung.message, now, generation
        )
    return made

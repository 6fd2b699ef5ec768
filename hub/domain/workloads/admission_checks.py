"""Admission checks: what a queue asks outsiders before its workloads start, and what they answered.

Kueue's rules: a check is required always or on some flavors; Ready by all lets a
workload start, Retry evicts it, Rejected deactivates it. Answers may add labels, annotations, node
selectors and tolerations to the pods; two that disagree fail. Pure: states are plain dicts, as
`workloads.checks` keeps them: {name: {state, message, at, requeueAfterSeconds, retryCount,
podSetUpdates}}.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from shared.documents import Json, JsonView

MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
EVICTED: Final = "AdmissionCheck"  # Kueue's reason of Evicted

State = Json
States = Mapping[str, JsonView]
Rules = tuple[tuple[str, frozenset[str]], ...]  # name, flavors (none: always)


class Answer(StrEnum):
    """The answer of a check's controller about one workload."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


_GRAVEST: Final = (Answer.REJECTED, Answer.RETRY, Answer.PENDING, Answer.READY)


@dataclass(frozen=True, slots=True)
class Check:
    """An AdmissionCheck: whose it is, and whether its controller serves it."""

    name: str
    controller: str = ""
    active: bool = True
    config: str = ""  # MultiKueue: name of its MultiKueueConfig

    @property
    def by_hub(self) -> bool:
        """The hub itself dispatches: it answers this check at once."""
        return self.controller == MULTIKUEUE


class Fault(NamedTuple):
    """The reason why a queue can admit nothing, in the words of its condition Active."""

    reason: str
    message: str


def queue_fault(rules: Rules, known: Mapping[str, Check]) -> Fault | None:
    """The reason why a queue with these checks is inactive, by Kueue's reasons; None where it is not."""
    names = [name for name, _ in rules]
    if absent := [n for n in names if n not in known]:
        return Fault("AdmissionCheckNotFound", f"AdmissionChecks not found: {', '.join(absent)}")
    if idle := [n for n in names if not known[n].active]:
        told = [f"{n} (no Active=True from {known[n].controller or 'a controller'})" for n in idle]
        text = f"AdmissionChecks are not active: {', '.join(told)}"
        return Fault("AdmissionCheckInactive", text)
    dispatching = [n for n in names if known[n].controller == MULTIKUEUE]
    if len(dispatching) > 1:
        text = f"more than one MultiKueue check: {', '.join(dispatching)}"
        return Fault("MultipleMultiKueueAdmissionChecks", text)
    if per_flavor := [n for n, on in rules if on and known[n].controller == MULTIKUEUE]:
        text = f"a MultiKueue check can not be per flavor: {', '.join(per_flavor)}"
        return Fault("MultiKueueAdmissionCheckAppliedPerFlavor", text)
    if dispatching and any(known[n].controller == PROVISIONING for n in names):
        text = f"MultiKueue ({dispatching[0]}) and ProvisioningRequest checks exclude each other"
        return Fault("MultiKueueWithProvisioningRequest", text)
    return None


# --- states of one workload ---------------------------------------------------------------------


def verdict(states: States) -> Answer:
    """The combined answer: the gravest of all; Ready if there are no checks."""
    given = {str(each["state"]) for each in states.values()}
    return next((answer for answer in _GRAVEST if answer in given), Answer.READY)


def still_open(states: States) -> list[str]:
    """Checks that have not said Ready, by name."""
    return sorted(name for name, each in states.items() if each["state"] != Answer.READY)


def opened(
    required: Iterable[str], known: Mapping[str, Check], former: States | None, at: str
) -> dict[str, State]:
    """The states with which a reservation begins; how often a check said Retry is kept."""
    states: dict[str, State] = {}
    for name in required:
        check = known.get(name)
        if check is not None and check.by_hub:
            text = "the hub places it on one of the check's clusters itself"
            states[name] = {"state": Answer.READY.value, "message": text, "at": at}
            continue
        states[name] = {"state": Answer.PENDING.value, "message": "", "at": at}
        if retries := ((former or {}).get(name) or {}).get("retryCount"):
            states[name]["retryCount"] = retries
    return states


def closed(states: States, at: str) -> dict[str, State]:
    """An eviction resets every answer to Pending; a check that answered Retry must answer again."""
    found: dict[str, State] = {}
    for name, each in states.items():
        before, said = each["state"], each.get("message") or ""
        text = "reset to Pending after the eviction"
        if before != Answer.PENDING:
            text += f"; it was {before}" + (f": {said}" if said else "")
        found[name] = {"state": Answer.PENDING.value, "message": text, "at": at}
        retries = int(each.get("retryCount") or 0) + (before == Answer.RETRY)
        if retries:
            found[name]["retryCount"] = retries
    return found


def synced(states: States, required: Sequence[str], fresh: States) -> dict[str, State] | None:
    """The states after a queue's checks have changed: `fresh` ones are added, others dropped.

    None where nothing changes.
    """
    if states.keys() == set(required):
        return None
    return {name: dict(states[name] if name in states else fresh[name]) for name in required}


# --- what answers add to the pods -----------------------------------------------------------------


@dataclass(slots=True)
class Additions:
    """The additions of answers to pods. `conflicts`: in words; empty where all agree."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[State] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


_MAPS: Final = (
    ("labels", "labels"),
    ("annotations", "annotations"),
    ("nodeSelector", "node_selector"),
)


def additions(states: States, pod_set: str, node_selector: Mapping[str, str]) -> Additions:
    """The updates of all checks for one pod set, over the `node_selector` that its flavors inject."""
    found = Additions(node_selector=dict(node_selector))
    owners: dict[tuple[str, str], str] = {("nodeSelector", k): "its flavor" for k in node_selector}
    for name in sorted(states):
        for update in states[name].get("podSetUpdates") or ():
            if update.get("name") == pod_set:
                _merge(found, owners, name, update)
    return found


def _merge(
    found: Additions, owners: dict[tuple[str, str], str], check: str, update: JsonView
) -> None:
    for part, attribute in _MAPS:
        present: dict[str, str] = getattr(found, attribute)
        for key, value in (update.get(part) or {}).items():
            owner = owners.setdefault((part, key), f"check {check}")
            if present.setdefault(key, value) != value:
                found.conflicts.append(
                    f"{part} {key}: {owner} wants {present[key]}, check {check} wants {value}"
                )
    for toleration in update.get("tolerations") or ():
        if toleration not in found.tolerations:
            found.tolerations.append(dict(toleration))


def node_asks(states: States, pod_sets: Sequence[str]) -> list[Additions]:
    """The restrictions that answers add to the nodes of each pod set; [] if none."""
    found = [additions(states, name, {}) for name in pod_sets]
    return found if any(a.node_selector or a.tolerations for a in found) else []


def template_conflicts(
    found: Additions,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    selector: Mapping[str, str],
) -> list[str]:
    """Conflicts between answers and the pods' own template."""
    pairs = (
        ("labels", found.labels, labels),
        ("annotations", found.annotations, annotations),
        ("nodeSelector", found.node_selector, selector),
    )
    return [
        f"{part} {key}: the template says {own[key]}, checks want {value}"
        for part, wanted, own in pairs
        for key, value in sorted(wanted.items())
        if own.get(key, value) != value
    ]


def requeue_span(states: States) -> dt.timedelta | None:
    """The longest back-off that checks with Retry request; None for at once."""
    spans = [
        int(each["requeueAfterSeconds"])
        for each in states.values()
        if each["state"] == Answer.RETRY and each.get("requeueAfterSeconds")
    ]
    return dt.timedelta(seconds=max(spans)) if spans else None

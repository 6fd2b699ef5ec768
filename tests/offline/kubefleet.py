"""KubeFleet's picks once more, from the text of its rules alone: fractions, floats and dictionaries.

    from tests.offline.kubefleet import place

Slow and plain, and written apart from what it is compared with (`hub.domain.placement.pick`).
"""

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Json = dict[str, Any]
USAGE = "resources.kubernetes-fleet.io/"
_SUFFIXES: dict[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{s: Fraction(1000**i) for i, s in enumerate("kMGTPE", start=1)},
    **{f"{s}i": Fraction(1024**i) for i, s in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([a-zA-Z]*))")
_VIEWS = {"total": "capacity", "allocatable": "allocatable", "available": "available"}
_OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Lt": operator.lt,
    "Le": operator.le,
}


@dataclass(frozen=True)
class Placed:
    """All who are picked; of those picked now their affinity and topology scores, in order."""

    names: frozenset[str]
    scores: dict[str, tuple[int, int]]


def quantity(text: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    digits, exponent, suffix = match.groups()
    if exponent is not None:
        return Fraction(digits) * Fraction(10) ** int(exponent)
    return Fraction(digits) * _SUFFIXES[suffix] if suffix in _SUFFIXES else None


def rounded(value: float) -> int:
    """Half away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def place(members: Sequence[Json], placement: Json, now: str, *, compatible: bool) -> Placed:
    """Where a placement goes. Not `compatible`: ranges of those who may be picked, and smallest domains
    take one more.
    """
    policy = placement["spec"]["policy"]
    fleet = {_name(m): m for m in members}
    statuses = placement["status"]["placementStatuses"]
    picked = [e["clusterName"] for e in statuses]
    picked = [n for n in picked if "deletionTimestamp" not in fleet[n]["metadata"]]
    if policy["placementType"] == "PickFixed":
        named = {n for n in policy["clusterNames"] if n in picked or _eligible(fleet[n], now)}
        return Placed(frozenset(named), {})
    namespace = placement["metadata"].get("namespace", "")
    may = [m for m in members if _may(m, policy, namespace, now) and _name(m) not in picked]
    if policy["placementType"] == "PickAll":
        return Placed(frozenset((*picked, *map(_name, may))), {})
    count = policy["numberOfClusters"]
    chosen = sorted(picked, reverse=True)[:count]
    affinity = _affinity(policy, members, members if compatible else may)
    scores: dict[str, tuple[int, int]] = {}
    while len(chosen) < count:
        keys = []
        for member in may:
            topology = _topology(policy, member, members, chosen, repairs=not compatible)
            if _name(member) not in chosen and topology is not None:
                keys.append((topology, affinity[_name(member)], _name(member)))
        if not keys:
            break
        topology, score, name = max(keys)
        chosen.append(name)
        scores[name] = (score, topology)
    return Placed(frozenset(chosen), scores)


def _name(member: Json) -> str:
    return str(member["metadata"]["name"])


def _labels(member: Json) -> dict[str, str]:
    return dict(member["metadata"]["labels"])


def _property(member: Json, name: str) -> Fraction | None:
    status = member["status"]
    if name.startswith(USAGE):
        view, _, resource = name.removeprefix(USAGE).partition("-")
        text = status.get("resourceUsage", {}).get(_VIEWS[view], {}).get(resource)
    else:
        text = status["properties"].get(name, {}).get("value")
    return None if text is None else quantity(text)


def _selects(selector: Json | None, labels: dict[str, str]) -> bool:
    given = selector or {}
    for expression in given.get("matchExpressions", ()):
        value = labels.get(expression["key"])
        holds = {
            "In": value in expression.get("values", ()),
            "NotIn": value not in expression.get("values", ()),
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not holds[expression["operator"]]:
            return False
    return given.get("matchLabels", {}).items() <= labels.items()


def _holds(term: Json, member: Json) -> bool:
    for each in term.get("propertySelector", {}).get("matchExpressions", ()):
        value, wanted = _property(member, each["name"]), quantity(each["values"][0])
        if value is None or wanted is None or not _OPERATORS[each["operator"]](value, wanted):
            return False
    return _selects(term.get("labelSelector"), _labels(member))


def _tolerated(taint: Json, tolerations: Sequence[Json]) -> bool:
    for each in tolerations:
        key, effect = each.get("key", ""), each.get("effect", "")
        if effect in {"", taint["effect"]}:
            if each.get("operator") == "Exists" and key in {"", taint["key"]}:
                return True
            same = key == taint["key"] and each.get("value", "") == taint["value"]
            if each.get("operator", "Equal") == "Equal" and same:
                return True
    return False


def _seconds(since: str, now: str) -> float:
    return (dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(since)).total_seconds()


def _eligible(member: Json, now: str) -> bool:
    told = member["status"].get("agentStatus")
    if "deletionTimestamp" in member["metadata"]:
        return False
    if told is None:
        return True
    agent: Json = next((a for a in told if a["type"] == "MemberAgent"), {})
    heard = agent.get("lastReceivedHeartbeat")
    conditions = {c["type"]: c for c in agent.get("conditions", ())}
    if heard is None or _seconds(heard, now) > 300 or not {"Joined", "Healthy"} <= set(conditions):
        return False
    health = conditions["Healthy"]
    well = health["status"] == "True" or _seconds(health["lastTransitionTime"], now) <= 300
    return conditions["Joined"]["status"] == "True" and well


def _may(member: Json, policy: Json, namespace: str, now: str) -> bool:
    affinity = policy.get("affinity", {}).get("clusterAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms = required.get("clusterSelectorTerms", ())
    taints, tolerations = member["spec"].get("taints", ()), policy.get("tolerations", ())
    reported = member["status"].get("namespaces")
    return (
        _eligible(member, now)
        and all(_tolerated(taint, tolerations) for taint in taints)
        and (not terms or any(_holds(term, member) for term in terms))
        and (not namespace or reported is None or namespace in reported)
    )


def _affinity(policy: Json, members: Sequence[Json], among: Sequence[Json]) -> dict[str, int]:
    affinity = policy.get("affinity", {}).get("clusterAffinity", {})
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    return {_name(m): sum(_score(t, m, among) for t in terms) for m in members}


def _score(term: Json, member: Json, among: Sequence[Json]) -> int:
    preference, weight = term["preference"], term["weight"]
    if not _selects(preference.get("labelSelector"), _labels(member)):
        return 0
    if "propertySorter" not in preference:
        return int(weight)
    sorter = preference["propertySorter"]
    value = _property(member, sorter["name"])
    known = [float(v) for m in among if (v := _property(m, sorter["name"])) is not None]
    if value is None or member not in among or min(known) == max(known):
        return 0
    share = (float(value) - min(known)) / (max(known) - min(known))
    return rounded((share if sorter["sortOrder"] == "Descending" else 1 - share) * weight)


def _topology(
    policy: Json, member: Json, members: Sequence[Json], chosen: Collection[str], *, repairs: bool
) -> int | None:
    """None: a constraint forbids it."""
    score = 0
    for constraint in policy.get("topologySpreadConstraints", ()):
        key = constraint["topologyKey"]
        domain = _labels(member).get(key)
        if domain is None:
            continue
        counts: dict[str, int] = {}
        for each in members:
            if (its := _labels(each).get(key)) is not None:
                counts[its] = counts.get(its, 0) + (_name(each) in chosen)
        ordered = sorted(counts.values())
        smallest, largest = ordered[0], ordered[-1]
        second = ordered[1] if len(ordered) > 1 else smallest
        if largest == smallest:
            change = 1
        elif counts[domain] == smallest and smallest != second:
            change = -1
        else:
            change = int(counts[domain] == largest)
        violated = change >= 0 and largest - smallest + change > constraint.get("maxSkew", 1)
        if repairs and largest > smallest == counts[domain]:
            violated = False
        if violated and constraint.get("whenUnsatisfiable") != "ScheduleAnyway":
            return None
        score += -1000 if violated else -change
    return score

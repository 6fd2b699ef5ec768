"""The nodes that pods of a Job prefer or avoid, as the hub writes them (rule 26 of exactly-once.md).

The hub adds them to what a user wrote, by the names of the nodes. The agent, which sees the nodes, puts
their hostname labels in place of their names: no policy of a member allows `matchFields`, which selects by
name. The reader of what the user wrote takes them off again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

HOSTNAME: Final = (
    "kubernetes.io/hostname"  # its value is the node's name on most clusters, not on all
)
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT: Final = 100
_OPERATORS: Final = ("In", "NotIn")  # in the order in which they are added

Pod = dict[str, Any]


def with_preferences(pod: Pod, nodes: Sequence[str], other_nodes: Sequence[str]) -> Pod:
    """The pod spec with an affinity by which it goes to `nodes`, and not to `other_nodes`, while it fits."""
    terms = [
        _term(operator, names)
        for operator, names in zip(_OPERATORS, (nodes, other_nodes), strict=True)
        if names
    ]
    if not terms:
        return pod
    affinity = pod.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    terms = [*(of_nodes.get(_PREFERRED) or ()), *terms]
    return {**pod, "affinity": {**affinity, "nodeAffinity": {**of_nodes, _PREFERRED: terms}}}


def without_preferences(pod: Pod) -> Pod:
    """The pod spec without the last terms that look as the hub's; the same object if there are none."""
    affinity = pod.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    own = list(of_nodes.get(_PREFERRED) or ())
    found = len(own)
    for operator in reversed(_OPERATORS):
        if own and _is_ours(own[-1], operator):
            own.pop()
    if len(own) == found:
        return pod
    of_nodes = _replaced(of_nodes, _PREFERRED, own)
    return _replaced(pod, "affinity", _replaced(affinity, "nodeAffinity", of_nodes))


def with_hostnames(pod: Pod, hostname_of: Callable[[str], str]) -> Pod:
    """The pod spec with hostname labels for the node names in the hub's terms; the same object without such.

    `hostname_of`: from the name of a node.
    """
    affinity = pod.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    terms = list(of_nodes.get(_PREFERRED) or ())
    at = len(terms)
    for operator in reversed(_OPERATORS):
        if at and _is_ours(terms[at - 1], operator):
            at -= 1
            terms[at] = _term(operator, [hostname_of(name) for name in _names(terms[at])])
    if at == len(terms):
        return pod
    return {**pod, "affinity": {**affinity, "nodeAffinity": {**of_nodes, _PREFERRED: terms}}}


def _names(term: Any) -> list[str]:
    return list(term["preference"]["matchExpressions"][0]["values"])


def _term(operator: str, nodes: Sequence[str]) -> dict[str, Any]:
    named = {"key": HOSTNAME, "operator": operator, "values": list(nodes)}
    return {"weight": _WEIGHT, "preference": {"matchExpressions": [named]}}


def _is_ours(term: Any, operator: str) -> bool:
    expressions = (term.get("preference") or {}).get("matchExpressions") or [{}]
    return bool(term == _term(operator, expressions[0].get("values") or ()))


def _replaced(mapping: Pod, name: str, value: Any) -> Pod:
    """With another value of this name; without it, if there is nothing in the value."""
    rest = {key: kept for key, kept in mapping.items() if key != name}
    return {**rest, name: value} if value else rest

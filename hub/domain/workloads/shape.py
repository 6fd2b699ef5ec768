"""The shape of a workload: its pod sets, as one hash and as plain JSON.

Jobs of equal shape are scored once (docs/explain/placement.md), so the shape holds all that decides
where a workload fits and nothing else: counts, requests, node selection and tolerations.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from shared.documents import Json, JsonView
from shared.resources import Expression, NodeTerm, PodSet, Resources, Toleration


def encode(pod_sets: Sequence[PodSet]) -> list[Json]:
    """Pod sets as plain JSON, in one canonical order of keys: what table `shapes` holds."""
    return [
        {
            "name": each.name,
            "count": each.count,
            "requests": dict(sorted(each.requests.items())),
            "nodeSelector": dict(each.node_selector),
            "affinity": None
            if each.affinity_terms is None
            else [
                {"expressions": _listed(term.expressions), "fields": _listed(term.fields)}
                for term in each.affinity_terms
            ],
            "tolerations": [
                {
                    "key": one.key,
                    "operator": one.operator,
                    "value": one.value,
                    "effect": one.effect,
                    "seconds": one.seconds,
                }
                for one in each.tolerations
            ],
            "minCount": each.min_count,
        }
        for each in pod_sets
    ]


def decode(listed: Sequence[JsonView]) -> tuple[PodSet, ...]:
    """The pod sets that `encode` wrote."""
    return tuple(
        PodSet(
            name=each["name"],
            count=each["count"],
            requests=Resources(each["requests"]),
            node_selector=tuple(sorted(each["nodeSelector"].items())),
            affinity_terms=None
            if each["affinity"] is None
            else tuple(
                NodeTerm(_expressions(term["expressions"]), _expressions(term["fields"]))
                for term in each["affinity"]
            ),
            tolerations=tuple(Toleration(**one) for one in each["tolerations"]),
            min_count=each["minCount"],
        )
        for each in listed
    )


@lru_cache(maxsize=4096)
def shape_hash(pod_sets: tuple[PodSet, ...]) -> str:
    """32 hexadecimal digits that equal pod sets share. Remembered: equal jobs come by the thousand."""
    return hashlib.blake2b(repr(encode(pod_sets)).encode(), digest_size=16).hexdigest()


def _listed(expressions: Sequence[Expression]) -> list[Json]:
    return [
        {"key": one.key, "operator": one.operator, "values": list(one.values)}
        for one in expressions
    ]


def _expressions(listed: Sequence[JsonView]) -> tuple[Expression, ...]:
    return tuple(Expression(one["key"], one["operator"], tuple(one["values"])) for one in listed)

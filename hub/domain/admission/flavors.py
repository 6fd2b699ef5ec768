"""Flavors and nodes: what pods ask of nodes under flavors, and which flavors are not for them.

A flavor's node labels and its tolerations narrow the nodes that may be used.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain import selectors
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import Flavor
from shared.resources import NodeTerm, PodSet
from shared.selectors import holds

UNKNOWN_KEY: Final = 1 << 60  # no report is grouped by a key that agents were not yet told of


@dataclass(frozen=True, slots=True)
class FlavorCatalog:
    """What flavors are chosen from: the flavors that exist, and the revisions of node label keys."""

    flavors: Mapping[str, Flavor]
    key_revisions: Mapping[str, int]

    def ask(self, pod_set: PodSet, flavors: Sequence[Flavor] = ()) -> NodeAsk:
        """What a pod set under flavors asks of nodes."""
        labels = dict(pod_set.node_selector)
        for flavor in flavors:
            labels.update(flavor.labels)
        terms = pod_set.affinity_terms
        keys = [*labels, *(e.key for t in terms or () for e in t.expressions)]
        return NodeAsk(
            labels=tuple(sorted(labels.items())),
            terms=() if terms is None else (terms,),
            tolerations=(*pod_set.tolerations, *(t for f in flavors for t in f.tolerations)),
            revision=max((self.key_revisions.get(k, UNKNOWN_KEY) for k in keys), default=0),
        )


def mismatch_of(pod_set: PodSet, flavor: Flavor) -> str:
    """Why a flavor's nodes are not for such pods; "" where they are.

    The pods' selector and required affinity are held against the flavor's labels, restricted to the
    flavor's own keys; a term that becomes empty matches everything.
    """
    taint = selectors.untolerated(flavor.taints, (*pod_set.tolerations, *flavor.tolerations))
    if taint is not None:
        return f"flavor {flavor.name} has taint {taint}, which the pods do not tolerate"
    labels = dict(flavor.labels)
    for key, value in pod_set.node_selector:
        if labels.get(key, value) != value:
            return f"flavor {flavor.name} has {key}={labels[key]}, the pods select {value}"
    terms = pod_set.affinity_terms
    if terms is not None and not any(_may_match(t, labels) for t in terms):
        return f"flavor {flavor.name} does not match the pods' required node affinity"
    return ""


def _may_match(term: NodeTerm, labels: Mapping[str, str]) -> bool:
    return all(holds(e, labels) for e in term.expressions if e.key in labels)


def distinct(flavors: Iterable[Flavor]) -> tuple[Flavor, ...]:
    """Each flavor once, in order of first mention."""
    seen: dict[str, Flavor] = {}
    for flavor in flavors:
        seen.setdefault(flavor.name, flavor)
    return tuple(seen.values())

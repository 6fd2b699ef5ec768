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

UNKNOWN_KEY: Final = 1 << 60  # no report groups nodes by a key that agents have not received yet


@dataclass(frozen=True, slots=True)
class FlavorCatalog:
    """The choice of flavors: the existing flavors, and the revisions of node label keys."""

    flavors: Mapping[str, Flavor]
    key_revisions: Mapping[str, int]

    def ask(self, pod_set: PodSet, flavors: Sequence[Flavor] = ()) -> NodeAsk:
        """The node requirements of a pod set under its flavors."""
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

    def ask_widely(self, pod_set: PodSet) -> NodeAsk:
        """Return the widest ask of a pod set under any flavor: it tolerates all that flavors tolerate."""
        tolerated = dict.fromkeys(t for f in self.flavors.values() for t in f.tolerations)
        ask = self.ask(pod_set)
        return ask._replace(tolerations=(*ask.tolerations, *tolerated))


def mismatch_of(pod_set: PodSet, flavor: Flavor) -> str:
    """The reason why a flavor's nodes do not suit such pods; "" if they do.

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

"""Results of `roadstead simulate place`, in its fixed JSON format."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.instants import from_micros
from hub.domain.placement.compatible import ineligible
from hub.domain.placement.framework import Filter
from hub.domain.placement.pick import Decision, pick
from hub.domain.placement.plugins.affinity import AffinityRequired
from hub.domain.placement.plugins.eligibility import Standing
from hub.domain.placement.plugins.naming import Named
from hub.domain.placement.plugins.taints import TaintsTolerated
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints
from hub.domain.workloads.placement_policy import properties_of
from hub.offline.inputs.placements import GivenPlacement, PlacingScene
from shared.documents import Json


def place_report(scene: PlacingScene, *, compatible: bool) -> Json:
    """Every placement's clusters, best first: those picked, those that competed, those that may not."""
    return {"placements": [_placed(scene, given, compatible) for given in scene.placements]}


def warnings(scene: PlacingScene) -> list[str]:
    """Inputs that count as missing, and kinds without objects."""
    nothing = [
        f"there is no {what} in the files"
        for what, given in (("MemberCluster", scene.members), ("placement", scene.placements))
        if not given
    ]
    return nothing + [
        f"MemberCluster {name}: {field} is no quantity and counts as missing"
        for name, member in scene.members.items()
        for field in (*member.unreadable, *_unread(scene, member.cluster))
    ]


def _unread(scene: PlacingScene, cluster: Cluster) -> list[str]:
    """Properties that a placement asks for, and that can not be read there."""
    asked = {name for placement in scene.placements for name in properties_of(placement.policy)}
    return [f"status.properties.{name}" for name in sorted(asked) if cluster.unreadable(name)]


def _placed(scene: PlacingScene, given: GivenPlacement, compatible: bool) -> Json:
    now = from_micros(scene.now)
    gone = _gone(scene)
    decisions = pick(
        given.policy,
        [member.cluster for member in scene.members.values()],
        now,
        chosen={name: scores for name, scores in given.picked.items() if name not in gone},
        unbound=given.unbound,
        filters=_filters(scene, given, now),
        compatible=compatible,
    )
    by_name = {decision.cluster: decision for decision in decisions.decisions}
    return {
        "namespace": given.namespace,
        "name": given.name,
        "clusters": [_cluster(by_name[name]) for name in decisions.order],
    }


def _gone(scene: PlacingScene) -> set[str]:
    """Members whose MemberCluster is being deleted: nothing is picked there, and no pick stays."""
    return {name for name, member in scene.members.items() if member.agent.has_left}


def _filters(scene: PlacingScene, given: GivenPlacement, now: dt.datetime) -> tuple[Filter, ...]:
    """KubeFleet's, in both modes: its agents report once a minute, less often than the hub's."""
    refused = {
        name: why
        for name, member in scene.members.items()
        if (why := ineligible(member.agent, now))
    }
    lacks = {
        name
        for name, member in scene.members.items()
        if given.namespace and member.namespaces is not None
        if given.namespace not in member.namespaces
    }
    return (
        Standing(refused),
        Named(),
        TaintsTolerated(),
        AffinityRequired(),
        _NamespaceThere(given.namespace, frozenset(lacks)),
    )


@dataclass(frozen=True, slots=True)
class _NamespaceThere:
    """KubeFleet's NamespaceAffinity: a member that reports its namespaces has the placement's own."""

    namespace: str
    lacking: frozenset[str]
    name: str = "NamespaceAffinity"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if cluster.name not in self.lacking:
            return None
        return Rejection(self.name, "NamespaceNotThere", f"it has no namespace {self.namespace}")


def _cluster(decision: Decision) -> Json:
    return {
        "name": decision.cluster,
        "selected": decision.selected,
        "affinityScore": decision.affinity_score,
        "topologySpreadScore": decision.topology_score,
        "reason": decision.message,
    }

"""A placement's decisions, written down: one binding per cluster, for its objects or for a Job."""

from typing import Final

from hub.domain.placement.scoring.balance import LABEL_POINT
from hub.services.placements.outcome import ReconcileOutcome
from hub.store import placements
from hub.store.records.placements import OF_A_JOB, Binding
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import JsonView

# Policy snapshots of bindings that are to go once who replaces them is available, and that compete anew.
LEAVING: Final = "leaving"
EVICTED: Final = "evicted"  # of one that was taken out: all of it goes at once
REBALANCED: Final = "rebalanced"
FOR_A_JOB: Final = OF_A_JOB


def bind(tx: Transaction, outcome: ReconcileOutcome, version: str, index: int) -> None:
    """Write the decisions down, and what clusters were given; a Job's own placing is one too.

    A cluster that is no longer picked keeps its binding, not selected, until all is withdrawn from it.
    """
    uid = outcome.row.uid
    present = outcome.before
    wanted = {job.cluster: _job_binding(uid, job, index) for job in outcome.jobs if job.cluster}
    for cluster, given in outcome.given.items():
        before = present.get(cluster)
        if not given.wanted and before is not None and before.policy_snapshot != FOR_A_JOB:
            wanted[cluster] = before._replace(
                selected=False,
                resource_snapshot=given.index,
                overrides=list(given.overrides) or None,
                settled_at=given.settled_at,
            )
    for decision in outcome.decisions.decisions:
        if decision.selected:
            wanted[decision.cluster] = Binding(
                placement=uid,
                cluster=decision.cluster,
                selected=True,
                affinity_score=decision.affinity_score,
                topology_score=decision.topology_score,
                reason=decision.reason,
                message=decision.message,
                policy_snapshot=LEAVING if decision.leaves else version,
                resource_snapshot=outcome.given[decision.cluster].index,
                overrides=list(outcome.given[decision.cluster].overrides) or None,
                settled_at=outcome.given[decision.cluster].settled_at,
            )
    placements.bind(tx, [each for each in wanted.values() if present.get(each.cluster) != each])
    placements.unbind(tx, uid, [cluster for cluster in present if cluster not in wanted])
    outcome.bound = wanted
    outcome.words = {cluster: each.message for cluster, each in wanted.items()}


def placed_by_its_queue(job: Workload) -> bool:
    """Did its queue's profile choose its cluster, before any placement selected it?"""
    return (job.scores or {}).get("profile") == "queue"


def _job_binding(uid: str, job: Workload, index: int) -> Binding:
    scores = (job.scores or {}).get("clusters") or ()
    chosen: JsonView = next((each for each in scores if each.get("cluster") == job.cluster), {})
    affinity, topology = _affinity(chosen), int(chosen.get("topologyScore") or 0)
    return Binding(
        placement=uid,
        cluster=job.cluster,
        selected=True,
        affinity_score=affinity,
        topology_score=topology,
        reason="Scheduled",
        message=_why_there(job, chosen, affinity, topology),
        policy_snapshot=FOR_A_JOB,
        resource_snapshot=str(index),
    )


def _why_there(job: Workload, chosen: JsonView, affinity: int, topology: int) -> str:
    """As the decision says it; of a Job that its queue had placed before, that it was so."""
    whose = "picked by scheduling policy"
    if placed_by_its_queue(job):
        whose = "placed there by its queue before this placement selected it"
    elif chosen.get("message") and "running" not in chosen:
        return str(chosen["message"])
    return (
        f'Successfully scheduled resources for placement in "{job.cluster}" '
        f"(affinity score: {affinity}, topology spread score: {topology}): {whose}"
    )


def _affinity(chosen: JsonView) -> int:
    """KubeFleet's affinity score; of a balanced decision what label preferences gave it."""
    if "running" not in chosen:
        return int(chosen.get("score") or 0)
    return sum(int(t["score"]) for t in chosen["terms"] if t["name"] == "labels") // LABEL_POINT

"""Preemption for a waiting workload: candidates, and the reasons that protect others."""

from typing import Final

from hub.domain.preemption.search import Contest
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.queue_policy import NEVER
from hub.services.explain.as_it_is_now import QuotaView
from hub.services.queues import quota_tree
from hub.store import workloads
from hub.store.transaction import Transaction
from shared.documents import Json

MOST: Final = 10  # candidates named
EXAMPLES: Final = 3  # named of those that one rule spares


def quota_of(view: QuotaView) -> list[Json]:
    """The quota of a queue: nominal, used, borrowed, available."""
    node = view.tree.queues.get(view.queue)
    if node is None:
        return []
    return [quota_tree.quota_view(view.tree, node, of) for of in node.quotas]


def outlook(tx: Transaction, view: QuotaView) -> Json | None:
    """Candidates for the head of a lane that lacks quota, and how many others are spared by which rule.

    None where quota is not what it lacks.
    """
    contest = view.contest
    if contest is None:
        return None
    quota_state, contested = contest.quota_state, contest.contested
    root = contest.node.root()
    spared: dict[str, list[AdmittedWorkload]] = {}
    candidates: list[AdmittedWorkload] = []
    for node in [root] if root.is_queue else list(root.queues()):
        for holder in quota_state.holders(node.name):
            if not holder.uses(contested):
                continue
            why = _spared(contest, holder, discreet=not tx.scope.is_everything)
            if why:
                spared.setdefault(why, []).append(holder)
            else:
                candidates.append(holder)
    # Whose jobs the others are is not told to who sees part of the fleet: how many they are is.
    most, few = (MOST, EXAMPLES) if tx.scope.is_everything else (0, 0)
    named = contest.sorted(candidates)[:most]
    examples = {why: those[:few] for why, those in sorted(spared.items())}
    shown = [h.uid for h in (*named, *(h for those in examples.values() for h in those))]
    names = {uid: row.name for uid, row in workloads.get_many(tx, shown).items()}
    return {
        "candidates": [_view(holder, names) for holder in named],
        "candidatesTotal": len(candidates),
        "spared": [
            {
                "reason": why,
                "count": len(spared[why]),
                "examples": [_view(holder, names) for holder in those],
            }
            for why, those in examples.items()
        ],
    }


def _view(holder: AdmittedWorkload, names: dict[str, str]) -> Json:
    return {
        "namespace": holder.namespace,
        "name": names.get(holder.uid, holder.uid),
        "clusterQueue": holder.queue,
        "priority": holder.priority,
        "cluster": holder.cluster,
    }


def _spared(contest: Contest, holder: AdmittedWorkload, *, discreet: bool) -> str:
    """The rule by which a holder is no candidate; "" where it is one. `discreet`: its queue is not named."""
    own = holder.queue == contest.who.queue
    its_queue = "its ClusterQueue" if discreet and not own else f"ClusterQueue {holder.queue}"
    field = "withinClusterQueue" if own else "reclaimWithinCohort"
    policy = contest.policy.within if own else contest.policy.reclaim
    if policy == NEVER:
        return f"{field} of {contest.who.queue} is Never"
    if holder.queue in contest.quota_state.inactive:
        return f"{its_queue} is not active"
    if not own and contest.quota_state.tree.within(
        contest.quota_state.node(holder.queue), contest.contested
    ):
        return f"{its_queue} uses no more than its own quota"
    if contest.may_take(holder, policy):
        return ""
    if contest.may_take(holder, "Any"):
        return f"{field} is {policy}: its priority is not below {contest.who.priority}"
    if holder.queue in contest.limits.protected:
        return f"{its_queue} is never preempted"
    least = contest.limits.minimum_runtime / 1e6
    return f"it has not run for the minimum time of {least:g} s"

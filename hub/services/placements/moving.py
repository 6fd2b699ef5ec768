"""Moves of objects between clusters: who leaves goes once who comes is available. Jobs are never moved."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from hub.domain.placement.pick import SCHEDULED, Decision, Decisions, Scores
from hub.domain.rollout.rolling_update import RollingUpdate
from hub.services.placements.outcome import ReconcileOutcome
from hub.store import works
from hub.store.transaction import Transaction
from shared.documents import JsonView


def hold(
    tx: Transaction, outcome: ReconcileOutcome, decisions: Decisions, leaving: Mapping[str, Scores]
) -> Decisions:
    """The decisions, with as many of those `leaving` kept as clusters are wanted and not available yet.

    `leaving`: clusters that hold the objects and were not picked again, with the scores of their pick.
    Where the strategy allows no more clusters than are wanted, none is kept: who goes first is its own rule.
    """
    if not leaving or not decisions.wanted or _never_more(outcome.row.spec or {}):
        return decisions
    ready = _available(tx, outcome, decisions.selected)
    most = decisions.wanted - len(ready)
    best = sorted(leaving, key=lambda name: (leaving[name], name), reverse=True)
    held = set(best[: max(0, most)])
    return replace(
        decisions,
        decisions=tuple(
            _held(each, leaving[each.cluster]) if each.cluster in held else each
            for each in decisions.decisions
        ),
    )


def _never_more(spec: JsonView) -> bool:
    surge = RollingUpdate.read(spec.get("strategy") or {}).max_surge
    return str(surge).removesuffix("%").strip("0") == ""


def _available(
    tx: Transaction, outcome: ReconcileOutcome, clusters: Collection[str]
) -> frozenset[str]:
    """Clusters where every object is applied as it is now, and available as far as that can be told."""
    wanted = outcome.selection.objects
    there: dict[str, set[str]] = {}
    for work in works.of_uids(tx, list(wanted)):
        current = work.observed_generation >= wanted[work.uid].generation
        if work.phase == "Applied" and current and work.available is not False:
            there.setdefault(work.cluster, set()).add(work.uid)
    return frozenset(name for name in clusters if there.get(name, set()) >= wanted.keys())


def _held(decision: Decision, scores: Scores) -> Decision:
    message = (
        f'Cluster "{decision.cluster}" holds it until another is available '
        f"(affinity score: {scores.affinity}, topology spread score: {scores.topology})"
    )
    return Decision(
        decision.cluster, True, scores.affinity, scores.topology, SCHEDULED, message, leaves=True
    )

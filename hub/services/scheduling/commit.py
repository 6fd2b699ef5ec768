"""Carrying a plan out: one transaction for all placements of a cycle, and for what rows should say.

A workload that moved meanwhile is left out, and so is a decision that no longer holds (`lapses`):
nothing is merged into a plan. What is written is prepared outside the transaction, since equal
workloads share nearly all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.plan import (
    Eviction,
    Lapse,
    LeftOut,
    Nominated,
    Placement,
    Plan,
    Score,
    Verdict,
)
from hub.domain.workloads.apply_options import ApplyOptions, steered
from hub.domain.workloads.states import Transition
from hub.services.context.decisions import score_view, told_growth, verdict_view
from hub.services.index.check_catalog import Gate
from hub.services.index.nominations import Kept, nodes_by_cluster
from hub.services.scheduling import lapses, reserve
from hub.services.scheduling.grounds import Grounds
from hub.services.scheduling.preempt import preempt
from hub.store import schedule, workloads, works
from hub.store.records.workloads import ReasonToWait, WorkloadMove
from hub.store.records.works import WantedWork
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.failpoints import failpoint

_OPEN = Gate()
_NOTHING = Plan((), ())
_NONE_KEPT: Mapping[str, frozenset[str]] = {}


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan as rows. `options`: by uid, what the work carries beside its manifest."""

    moves: list[WorkloadMove] = field(default_factory=list)
    reserves: list[WorkloadMove] = field(default_factory=list)  # admission checks come first
    checks: dict[str, tuple[str, ...]] = field(default_factory=dict)  # required, by uid
    options: dict[str, ApplyOptions] = field(default_factory=dict)
    placed_by: dict[str, str] = field(default_factory=dict)
    evictions: dict[str, list[Eviction]] = field(default_factory=dict)  # by preemptor
    nominations: list[Nominated] = field(default_factory=list)
    reasons: list[ReasonToWait] = field(default_factory=list)
    explanations: dict[str, Json] = field(default_factory=dict)
    plan: Plan = _NOTHING  # what this is written of

    def __bool__(self) -> bool:
        return bool(
            self.moves
            or self.reserves
            or self.reasons
            or self.explanations
            or self.evictions
            or self.nominations
        )


def kept_nodes(snapshot: Snapshot, plan: Plan) -> Kept:
    """Nodes on which room is kept once the plan is written: rule 26 of docs/explain/exactly-once.md."""
    return nodes_by_cluster(
        (
            *snapshot.kept.items(),
            *((claim.cluster, claim.nodes) for claim in snapshot.nominations.values()),
            *((claim.cluster, claim.nodes) for claim in plan.nominated),
            *((each.cluster, each.nodes) for each in plan.placements if each.nodes),
        )
    )


def prepare(plan: Plan, gate: Gate = _OPEN, kept: Kept = _NONE_KEPT) -> PreparedPlan:
    """The rows of a plan's placements; a few microseconds each, for what is equal is written once.

    `gate`: admission checks. A workload with a check that an outsider answers is reserved, not placed.
    """
    writer = _Writer(kept)
    prepared = PreparedPlan(plan=plan)
    for placement in plan.placements:
        row: WorkloadMove = {
            "uid": placement.uid,
            "epoch": placement.epoch,
            "if_generation": placement.generation,  # another one may ask for more than is charged
            "cluster": placement.cluster,
            "cluster_queue": placement.queue,
            "admission": writer.admission(placement),
            "scores": writer.scores(placement),
            "nomination": None,
            "checks": None,  # with the states they begin in, once it is written
        }
        growth = placement.scores[0].new_nodes if placement.scores else ()
        if growth:
            row["new_nodes"] = sum(count for _, count in growth)
        required = gate.required(placement.queue, placement.assignment)
        if required:
            prepared.checks[placement.uid] = required
            if gate.waits(required):
                prepared.reserves.append(row)
                continue
        if growth:
            row["message"] = f"placed on {placement.cluster}; needs {told_growth(growth)}"
        prepared.moves.append(row)
        prepared.options[placement.uid] = writer.options(placement)
        prepared.placed_by[placement.uid] = placement.placed_by
    for eviction in plan.evictions:
        prepared.evictions.setdefault(eviction.by, []).append(eviction)
    prepared.nominations.extend(n for n in plan.nominated if n.new)
    return prepared


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a plan: the uids placed, and the reason why each other placement was left out."""

    placed: list[str]
    left_out: Mapping[str, LeftOut]


def commit_plan(
    tx: Transaction, prepared: PreparedPlan, term: int, grounds: Grounds, gate: Gate = _OPEN
) -> Committed:
    """Write of a plan what still holds, in one transaction. Raises StaleTerm if another leads by now."""
    tx.require_term(term)
    reserved = frozenset(row["uid"] for row in prepared.reserves)
    lapsed = lapses.of_plan(tx, grounds, prepared.plan, prepared.checks, reserved)
    if lapsed:
        prepared = _without(prepared, lapsed)
    reserve.reserve(tx, prepared.reserves, prepared.checks, gate)
    if prepared.reserves:
        failpoint("H04")
    moves = reserve.with_states(tx, prepared.moves, prepared.checks, gate)
    placed = place(tx, moves, prepared)
    moved = set(placed)
    workloads.refuse(tx, [row for row in prepared.reasons if row["uid"] not in moved])
    preempt(tx, prepared.evictions, prepared.nominations)
    schedule.put_explanations(tx, prepared.explanations)
    stayed = [row for row in moves if row["uid"] not in moved]
    left_out = workloads.left_out(tx, stayed) if stayed else {}
    return Committed(placed, left_out | dict.fromkeys(lapsed, LeftOut.LAPSED))


def place(tx: Transaction, moves: Sequence[WorkloadMove], prepared: PreparedPlan) -> list[str]:
    """Place workloads and give their clusters the works; the uids placed."""
    placed = workloads.transition(tx, Transition.PLACE, moves)
    if placed:
        _hand_over(tx, placed, prepared)
        failpoint("H06")
    return placed


def _without(prepared: PreparedPlan, lapsed: Mapping[str, Lapse]) -> PreparedPlan:
    """The plan without lapsed decisions: their workloads wait, with the reason of now, and evict nothing."""
    reasons: list[ReasonToWait] = [
        {"uid": uid, "reason": str(lapse.reason), "message": lapse.message[:1024]}
        for uid, lapse in lapsed.items()
    ]
    return replace(
        prepared,
        moves=[row for row in prepared.moves if row["uid"] not in lapsed],
        reserves=[row for row in prepared.reserves if row["uid"] not in lapsed],
        evictions={by: those for by, those in prepared.evictions.items() if by not in lapsed},
        nominations=[n for n in prepared.nominations if n.uid not in lapsed],
        reasons=[*(row for row in prepared.reasons if row["uid"] not in lapsed), *reasons],
    )


def _hand_over(tx: Transaction, placed: Sequence[str], prepared: PreparedPlan) -> None:
    """Give the clusters the works of what was placed; bare Workloads go to none."""
    moves = {row["uid"]: row for row in prepared.moves}
    placed = [uid for uid in placed if moves[uid]["cluster"]]
    known = schedule.identities(tx, placed)
    rows: list[WantedWork] = []
    for uid in placed:
        row = known[uid]
        rows.append(
            {
                "cluster": moves[uid]["cluster"],
                "uid": uid,
                "epoch": moves[uid]["epoch"] + 1,
                "generation": row.generation,
                "api_version": row.api_version,
                "kind": row.kind,
                "namespace": row.namespace,
                "name": row.name,
                "options": prepared.options[uid],
                "placed_by": prepared.placed_by[uid],
            }
        )
    works.upsert(tx, rows)


class _Writer:
    """JSON of decisions; each distinct part is written once. Parts are kept alive by the plan."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._admissions: dict[int, Any] = {}
        self._options: dict[tuple[int, str], ApplyOptions] = {}
        self._scores: dict[tuple[int, int], bytes] = {}
        self._rejected: dict[int, bytes] = {}

    def admission(self, placement: Placement) -> Any:
        assignment = placement.assignment
        if placement.nodes:
            return assignment.admission() | {"nodes": list(placement.nodes)}
        found = self._admissions.get(id(assignment))
        if found is None:
            found = orjson.Fragment(orjson.dumps(assignment.admission()))
            self._admissions[id(assignment)] = found
        return found

    def options(self, placement: Placement) -> ApplyOptions:
        assignment, kept = placement.assignment, self._kept.get(placement.cluster)
        key = (id(assignment), placement.cluster if kept else "")
        found = self._options.get(key)
        if found is None:
            found = assignment.additions()
            if kept:
                found = steered(found, (), kept)
            self._options[key] = found
        if not placement.nodes:
            return found
        return steered(found, placement.nodes, kept or frozenset())

    def scores(self, placement: Placement) -> Any:
        if not placement.scores:
            return None
        chosen, *others = placement.scores
        parts = [self._score(chosen, chosen)]
        parts += [self._score(score, chosen) for score in others]
        rejected = self._verdicts(placement.rejected)
        if rejected:
            parts.append(rejected)
        profile = b"placement" if placement.placed_by else b"queue"
        return orjson.Fragment(
            b'{"profile":"%b","others":%d,"clusters":[%b]}'
            % (profile, placement.others, b",".join(parts))
        )

    def _score(self, score: Score, best: Score) -> bytes:
        # Only of one tied with the best do the words name it.
        key = (id(score), id(best) if score.score == best.score else 0)
        found = self._scores.get(key)
        if found is None:
            found = self._scores[key] = orjson.dumps(score_view(score, best))
        return found

    def _verdicts(self, rejected: tuple[Verdict, ...]) -> bytes:
        found = self._rejected.get(id(rejected))
        if found is None:
            found = b",".join(orjson.dumps(verdict_view(v)) for v in rejected)
            self._rejected[id(rejected)] = found
        return found

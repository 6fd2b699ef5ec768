"""Staged update runs of one placement: worked out once, held to what they were worked out from, carried on.

Of several runs the newest that is in state Run drives; those begun before it end. A run's whole state is
its object's status (`run_status`); what it does is `hub.domain.rollout.staged`'s to say.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.pick import Decisions
from hub.domain.placement.plugins.consent import AWAITING_REPORT
from hub.domain.rollout.run_state import ClusterSight, RunStep, resumed
from hub.domain.rollout.staged import next_step
from hub.domain.rollout.stages import StagesUnfit, in_stages
from hub.services.context.settings import Rollouts
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.snapshots import policy_index
from hub.services.placements.staged import approvals
from hub.services.placements.staged.status import (
    BY_ITSELF,
    INITIALIZED,
    RunWriter,
    is_initialized,
    is_over,
    read_limits,
    read_run,
    read_stages,
)
from hub.store import objects, placements
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import find
from shared.documents import Json, JsonView
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import PLACEMENT_KINDS
from shared.kinds.staged_v1 import INITIALIZE, RUN, RUN_KINDS, STOP, STRATEGY_KINDS

_UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)
_MOST_NAMED: Final = 10  # versions named that are kept
Look = Callable[[int], Mapping[str, ClusterSight]]


@dataclass(frozen=True, slots=True)
class ChosenClusters:
    """Inputs of a run's plan: labels of the picked clusters, and former ones with objects."""

    chosen: Mapping[str, Mapping[str, str]]
    leftovers: Collection[str]


@dataclass(slots=True)
class Driven:
    """A run that was carried on: what it gives, by which version, and how it stands in words."""

    run: StoredObject
    index: int
    step: RunStep
    begun: frozenset[str] = field(default_factory=frozenset)  # clusters that it has begun

    @property
    def words(self) -> str:
        return f"{self.run.name} brings version {self.index}: {self.step.why}"


def spec_of(row: StoredObject) -> JsonView:
    """As it came, where it was taken before its kind was read."""
    spec = row.spec if row.spec is not None else row.manifest.get("spec")
    return spec if isinstance(spec, dict) else {}


def placement_of(run: StoredObject) -> tuple[str, str, str]:
    """Kind, namespace and name of the placement that a run is for."""
    kind = PLACEMENT_KINDS[RUN_KINDS.index(run.kind)]
    return kind, run.namespace, str(spec_of(run).get("placementName") or "")


def index_of(run: StoredObject) -> int | None:
    """The version that a run brings, once it is worked out."""
    used = (run.status or {}).get("resourceSnapshotIndexUsed")
    return int(used) if used is not None and used != "" else None


def state_of(run: StoredObject) -> str:
    """Initialize, Run or Stop."""
    return str(spec_of(run).get("state") or INITIALIZE)


def refuse_all(tx: Transaction, runs: Sequence[StoredObject], why: str, *, final: bool) -> None:
    """Runs that can not go on. `final`: nor later; else one that has not begun waits."""
    for run in runs:
        if is_over(run.status):
            continue
        writer = RunWriter(run.status, tx.now, run.generation)
        if is_initialized(run.status):
            writer.fail(why)
        elif final:
            writer.say(INITIALIZED, "False", "UpdateRunInitializedFailed", why)
        else:
            writer.say(INITIALIZED, "Unknown", "UpdateRunNotInitializedYet", why)
        _write(tx, run, writer.status)


def drive(
    tx: Transaction,
    outcome: ReconcileOutcome,
    runs: Sequence[StoredObject],
    fleet: ChosenClusters,
    look: Look,
    rollouts: Rollouts,
) -> Driven | None:
    """Work out runs that are not yet, end those that are overtaken, carry on the one that drives.

    `look`: what stands in clusters by the version that they are to have.
    """
    ordered = sorted(runs, key=lambda run: (run.created_at, run.name))
    alive = [run for run in ordered if not is_over(run.status) and run.deleted_at is None]
    alive = [_initialize(tx, outcome, run, fleet) for run in alive]
    begun = [run for run in alive if is_initialized(run.status) and state_of(run) in (RUN, STOP)]
    running = [run for run in begun if state_of(run) == RUN and not is_over(run.status)]
    newest = running[-1] if running else (begun[-1] if begun else None)
    for run in begun:
        if run is newest:
            break
        assert newest is not None
        if running:
            refuse_all(tx, [run], f"run {newest.name}, which is newer, took over", final=True)
    if newest is None:
        return None
    why = _changed(tx, outcome, newest, fleet) or _unreadable(newest)
    if why:
        refuse_all(tx, [newest], why, final=True)
        return None
    return _carry_on(tx, newest, look, rollouts)


def _carry_on(tx: Transaction, run: StoredObject, look: Look, rollouts: Rollouts) -> Driven:
    status = run.status or {}
    index = index_of(run) or 0
    state = read_run(status)
    if _is_resumed(run):
        state = resumed(state)
    limits = read_limits(status.get("stagedUpdateStrategySnapshot") or {}, rollouts)
    asked = [
        (stage.stage.name, when)
        for stage in state.stages
        if stage.ended_at is None and stage.clusters
        for when, tasks in (("before", stage.stage.before), ("after", stage.stage.after))
        if None in tasks
    ][:2]
    granted = approvals.approved(tx, run, asked)
    step = next_step(state, look(index), granted, tx.now, limits, stopped=state_of(run) == STOP)
    approvals.ask(tx, run, step.requests)
    approvals.accept(tx, run, [each for each in asked if each in granted])
    writer = RunWriter(status, tx.now, run.generation)
    writer.take(step, limits)
    _write(tx, run, writer.status)
    begun = frozenset(
        each.cluster
        for stage in step.run.stages
        for each in stage.clusters
        if each.started_at is not None
    )
    return Driven(run, index, step, begun)


def _unreadable(run: StoredObject) -> str:
    """Why its status can not be gone on from; nothing that the hub has written is so."""
    try:
        read_run(run.status or {})
    except _UNREADABLE as odd:
        return f"its status can not be read: {odd!r}"[:300]
    return ""


def _is_resumed(run: StoredObject) -> bool:
    """True if a person resumed the run after the hub stopped it, by any change or by REST."""
    halted = find((run.status or {}).get("conditions"), BY_ITSELF)
    if halted is None:
        return False
    changed = run.generation > int(halted.get("observedGeneration") or 0)
    return halted["status"] != "True" or (changed and state_of(run) == RUN)


def _write(tx: Transaction, run: StoredObject, status: Json) -> None:
    """Write a run's status where it changed, and record the important events."""
    if status == run.status:
        return
    before = {c["type"]: c for c in (run.status or {}).get("conditions") or ()}
    told: set[str] = set()  # its end stands in two conditions, and is one event
    for each in status.get("conditions") or ():
        was = before.get(each["type"])
        if each["reason"] not in told and (was is None or was["reason"] != each["reason"]):
            told.add(each["reason"])
            bad = each["reason"].endswith(("Failed", "Stuck", "NotInitializedYet"))
            tx.say(run, each["reason"], each["message"], warning=bad)
    objects.set_statuses(tx, {run.uid: status})


# --- working out --------------------------------------------------------------------------------------


class _NotYet(Exception):
    """A run can not be worked out as things stand, and may be later."""


class _Never(Exception):
    """A run can not be worked out."""


def _initialize(
    tx: Transaction, outcome: ReconcileOutcome, run: StoredObject, fleet: ChosenClusters
) -> StoredObject:
    """The run with its stages worked out, or with why they are not."""
    if is_initialized(run.status):
        return run
    writer = RunWriter(run.status, tx.now, run.generation)
    try:
        _work_out(tx, outcome, run, fleet, writer)
    except _NotYet as wait:
        writer.say(INITIALIZED, "Unknown", "UpdateRunNotInitializedYet", str(wait))
    except (_Never, StagesUnfit) as fault:
        writer.say(INITIALIZED, "False", "UpdateRunInitializedFailed", str(fault))
    except _UNREADABLE as odd:  # taken before its kind was read
        text = f"run or strategy can not be read: {odd!r}"[:300]
        writer.say(INITIALIZED, "False", "UpdateRunInitializedFailed", text)
    _write(tx, run, writer.status)
    return run._replace(status=writer.status)


def _work_out(
    tx: Transaction,
    outcome: ReconcileOutcome,
    run: StoredObject,
    fleet: ChosenClusters,
    writer: RunWriter,
) -> None:
    spec = spec_of(run)
    kind = STRATEGY_KINDS[RUN_KINDS.index(run.kind)]
    name = str(spec.get("stagedRolloutStrategyName") or "")
    strategy = objects.find(tx, PLACEMENT, kind, run.namespace, name)
    if strategy is None:
        raise _NotYet(f"there is no {kind} {name}: the run is planned once it exists")
    if not outcome.selection.objects and not fleet.leftovers:
        raise _NotYet("the placement selects no object yet")
    if unheard := _unheard(
        outcome.decisions
    ):  # their stage would be skipped, and others come first
        names = ", ".join(unheard[:_MOST_NAMED])
        raise _NotYet(f"the agents of {names} have yet to report whether they accept this hub")
    if not outcome.decisions.fulfilled:
        raise _NotYet(f"not all clusters are found: {outcome.decisions.message}")
    index = _version(tx, outcome, str(spec.get("resourceSnapshotIndex") or ""))
    stages = read_stages(spec_of(strategy))
    clusters = in_stages(stages, fleet.chosen)
    writer.status |= {
        "policySnapshotIndexUsed": str(policy_index(tx, outcome.row.uid)),
        "policyObservedClusterCount": len(fleet.chosen),
        "resourceSnapshotIndexUsed": str(index),
        "appliedStrategy": _apply_strategy(outcome),
        "stagedUpdateStrategySnapshot": dict(spec_of(strategy)),
    }
    writer.begin(run.name, stages, clusters, sorted(fleet.leftovers))


def _unheard(decided: Decisions) -> list[str]:
    """Clusters that would be picked if their agents had reported consent.

    However long that takes: an agent that stays silent makes its cluster Suspect, which is not picked.
    """
    if decided.wanted is not None and decided.fulfilled:
        return []
    return [d.cluster for d in decided.decisions if not d.selected and d.cause == AWAITING_REPORT]


def _version(tx: Transaction, outcome: ReconcileOutcome, asked: str) -> int:
    if not asked:
        return outcome.resource_index
    kept = [each for each, _, _ in placements.history(tx, outcome.row.uid, "resources")]
    if int(asked) not in kept:
        names = ", ".join(str(each) for each in kept[:_MOST_NAMED])
        raise _Never(f"version {asked} is not kept; kept are {names}")
    return int(asked)


def _apply_strategy(outcome: ReconcileOutcome) -> Json:
    strategy = (outcome.row.spec or {}).get("strategy") or {}
    return dict(strategy.get("applyStrategy") or {})


def _changed(
    tx: Transaction, outcome: ReconcileOutcome, run: StoredObject, fleet: ChosenClusters
) -> str:
    """What a run was worked out from and is not so any more, in words; "" where all is."""
    status = run.status or {}
    if status.get("appliedStrategy") != _apply_strategy(outcome):
        return "the placement's applyStrategy has changed since the run was planned"
    policy = str(policy_index(tx, outcome.row.uid))
    if status.get("policySnapshotIndexUsed") != policy:
        used = status.get("policySnapshotIndexUsed")
        return f"the placement's policy has changed: the run was planned by {used}, it is {policy} now"
    then = {
        each["clusterName"]
        for stage in status.get("stagesStatus") or ()
        for each in stage.get("clusters") or ()
    }
    # A cluster that came since gets nothing by this run: it is for the next one.
    emptied = {
        each["clusterName"]
        for each in (status.get("deletionStageStatus") or {}).get("clusters") or ()
    }
    back, gone = sorted(emptied & fleet.chosen.keys()), sorted(then - fleet.chosen.keys())
    if back:
        return f"cluster {back[0]} is chosen again since the run was planned: make a new run"
    return f"cluster {gone[0]} is no longer chosen: make a new run" if gone else ""

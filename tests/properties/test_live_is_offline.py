"""Live and offline are the same code: random histories through a hub, each decision compared.

Before every turn of the scheduler the hub's rows are told to the offline engine as manifests; both
decide until nothing changes, and must admit and preempt the same.
"""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st

from hub.domain.cycle.attempt import Attempt, Ending
from hub.domain.workloads.states import TRANSITIONS, State, Transition
from hub.offline.inputs import documents, scene
from hub.offline.inputs.settings import settings_of
from hub.offline.play.engine import Engine, engine_of
from hub.services.context.settings import Queueing, Settings
from hub.store.records.workloads import Workload
from tests.examples import examples
from tests.services.build import a_class, a_cohort, in_cohort
from tests.services.hubs import KUEUE, Running, a_job, a_pool, running
from tests.services.outside.controller import a_check, activate, answer, checked

QUEUES = ("a", "b", "d")
DOORS = ("a", "a2", "b", "d")  # a2 leads to ClusterQueue a, too
LONG = 1_000_000.0  # half-life and sampling interval: an admission counts half of what it asks
ROUNDS = 40
policies = st.fixed_dictionaries(
    {
        "withinClusterQueue": st.sampled_from(
            ["LowerPriority", "LowerOrNewerEqualPriority", "Never"]
        ),
        "reclaimWithinCohort": st.sampled_from(["Any", "LowerPriority", "Never"]),
    }
)
queues = st.tuples(
    *(
        st.fixed_dictionaries(
            {
                "nominal": st.integers(1, 4).map(str),
                "cohort": st.sampled_from(["left", "left", "right", ""]),
                "preemption": policies,
                "strict": st.booleans(),
                "borrow": st.sampled_from([None, "0", "2"]),
                "lend": st.sampled_from([None, "1"]),
            }
        )
        for _ in QUEUES
    )
)
submissions = st.tuples(
    st.just("submit"), st.sampled_from(DOORS), st.integers(1, 4), st.sampled_from(["", "high"])
)
reports = st.tuples(
    st.sampled_from(["finish", "gone", "gone", "ready", "retry"]),
    st.just(""),
    st.integers(0, 9),
    st.just(""),
)
turn = ("turn", "", 0, "")
steps = st.lists(
    st.tuples(st.lists(submissions, min_size=2, max_size=5), st.lists(reports, max_size=3)).map(
        lambda both: [*both[0], turn, *both[1], turn]
    ),
    min_size=2,
    max_size=4,
).map(lambda parts: [step for part in parts for step in part])


@pytest.mark.timeout(400)  # many stores, each on a disk that others use too
@examples(18, suppress_health_check=[HealthCheck.too_slow])
@given(queues, steps, st.booleans(), st.booleans(), st.sets(st.sampled_from(QUEUES)))
def test_hub_and_simulator_decide_alike(
    declared: tuple[dict[str, Any], ...],
    history: list[tuple[str, str, int, str]],
    fair: bool,
    by_usage: bool,
    checking: set[str],
) -> None:
    """After any history, what a turn of the hub admits and preempts is what the simulator does.

    Queues in `checking` ask for an admission check: what they admit is reserved until it is Ready.
    """
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(
            _play(Path(folder), declared, history, fair=fair, by_usage=by_usage, checking=checking)
        )


async def _play(
    folder: Path,
    declared: tuple[dict[str, Any], ...],
    history: list[tuple[str, str, int, str]],
    *,
    fair: bool,
    by_usage: bool,
    checking: set[str],
) -> None:
    limits = Settings(
        queueing=Queueing(
            fair_sharing="On" if fair else "Off",
            admission_fair_sharing="On" if by_usage else "Off",
            usage_half_life_s=LONG,
            usage_sampling_s=LONG,
        )
    )
    rules = [a_cohort("root"), a_cohort("left", parent="root"), a_cohort("right", parent="root")]
    rules += [a_class("high", 100)]
    for name, given_ in zip(QUEUES, declared, strict=True):
        limits_of: dict[str, Any] = (
            {} if given_["cohort"] else {"borrow": None, "lend": None}
        )  # only in cohorts
        rules += in_cohort(name, **(given_ | limits_of))
    rules.append({**rules[-1], "metadata": {"name": "a2", "namespace": "team-a"}})
    rules[-1]["spec"] = {"clusterQueue": "a"}
    for rule in rules:
        if rule["kind"] == "ClusterQueue" and by_usage:
            rule["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        if rule["kind"] == "ClusterQueue" and rule["metadata"]["name"] in checking:
            rule["spec"] |= checked("budget")
    rules.append(a_check("budget"))
    async with running(folder, limits) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="1000"))
        await hub.apply(*rules)
        await activate(hub, "budget")
        uids: list[str] = []
        for what, queue, number, priority in [*history, ("turn", "", 0, "")]:
            if what == "submit":
                labels = {"cpu": str(number)}
                if priority:
                    labels["kueue.x-k8s.io/priority-class"] = priority
                job = a_job(
                    f"j{len(uids)}", queue=queue, requests={"cpu": str(number)}, labels=labels
                )
                uids += await hub.apply(job)
                hub.clock.advance(1)
            elif what == "turn":
                await _compare(hub, rules, uids, fair=fair)
            elif uids:
                await _move(hub, what, uids[number % len(uids)])
        await _compare(hub, rules, uids, fair=fair)


async def _move(hub: Running, what: str, uid: str) -> None:
    """An agent's report: it finished, or nothing of a withdrawn one is left; or a check's answer."""
    state = State((await hub.job(uid)).state)
    if what in {"ready", "retry"}:
        if state is State.RESERVED:
            await answer(hub, uid, "budget", what.title())
            hub.clock.advance(1)
        return
    move = Transition.SUCCEED if what == "finish" else Transition.REQUEUE
    if state is State.WITHDRAWING or (
        what == "finish" and state in TRANSITIONS[Transition.SUCCEED][0]
    ):
        await hub.transition(move, uid)
        hub.clock.advance(1)


async def _compare(
    hub: Running, rules: list[dict[str, Any]], uids: list[str], *, fair: bool
) -> None:
    before = {row.uid: row for row in await hub.jobs(uids)}
    await hub.follow()
    engine = _engine(_with_usage(rules, hub), list(before.values()), hub, fair=fair)
    hub.scheduler.index.waiting.wake()  # who is woken by what is another rule
    await hub.scheduler.turn()
    after = {row.uid: row for row in await hub.jobs(uids)}
    admitted, victims = _outcome(engine, hub)
    told = {
        uid
        for uid, row in after.items()
        if before[uid].state == "Pending" and row.state in {"Placed", "Reserved"}
    }
    withdrawn = {
        uid for uid, row in after.items() if _preemptions(row) > _preemptions(before[uid])
    }
    assert (told | (admitted & withdrawn), withdrawn) == (admitted, victims), (before, after)
    for uid, row in after.items():  # their agents are told, so that they go gracefully
        if row.state != "Placed":
            continue
        for move in ("offer", "apply", "start"):
            await hub.transition(move, uid)
        hub.clock.advance(1)
    await hub.follow()


def _preemptions(row: Workload) -> int:
    """How often a job was preempted so far; it may be admitted and preempted again in one turn."""
    return (row.evictions or {}).get("Preempted", 0)


def _with_usage(rules: list[dict[str, Any]], hub: Running) -> list[dict[str, Any]]:
    """LocalQueues as their status would be if every admission so far had been sampled."""
    ranks = hub.scheduler.index.consumption.ranks()
    told = []
    for rule in rules:
        if ranks is not None and rule["kind"] == "LocalQueue":
            used = ranks.values[f"team-a/{rule['metadata']['name']}"]
            status = {"consumedResources": {"cpu": f"{round(used * 1000)}m"}}
            told.append(
                {**rule, "status": {"fairSharing": {"admissionFairSharingStatus": status}}}
            )
        else:
            told.append(rule)
    return told


def _outcome(engine: Engine, hub: Running) -> tuple[set[str], set[str]]:
    admitted: set[str] = set()
    victims: set[str] = set()
    now = documents.read_instant(hub.clock.now().isoformat())
    for _ in range(ROUNDS):
        attempts: list[Attempt] = engine.round(now)
        for attempt in attempts:
            if attempt.ending is Ending.ADMITTED:
                admitted.add(attempt.who.uid)
            elif attempt.ending is Ending.PREEMPTING:
                victims |= {v.holder.uid for v in attempt.victims if not v.holder.evicted}
    return admitted, victims


def _engine(
    rules: list[dict[str, Any]], rows: list[Workload], hub: Running, *, fair: bool
) -> Engine:
    listed = [*rules, *(_workload(row) for row in rows if row.finished_at is None)]
    read = [documents.read_document("hub", n, m) for n, m in enumerate(listed, start=1)]
    now = documents.read_instant(hub.clock.now().isoformat())
    given_ = {
        "fairSharing": {"enable": fair},
        "admissionFairSharing": {"usageHalfLifeTime": LONG, "usageSamplingInterval": LONG},
    }
    described = scene.build(read, settings_of(given_), now)
    claims = hub.scheduler.index.claims  # manifests do not say for whom others were told to go
    described.pending = [replace(who, nominated=who.uid in claims) for who in described.pending]
    return engine_of(described)


def _workload(row: Workload) -> dict[str, Any]:
    """A row of the hub as Kueue would show it; the queue's label tells the amount that was asked."""
    holds = row.admission is not None
    conditions = [{"type": "Evicted", "status": "True", "reason": "Preempted"}]
    if row.state != "Withdrawing":
        conditions = []
    status: dict[str, Any] = {"conditions": conditions}
    if holds:
        since = (row.reserved_at or row.placed_at).isoformat()
        for kind in ("QuotaReserved", "Admitted")[: 1 if row.state == "Reserved" else 2]:
            conditions.append({"type": kind, "status": "True", "lastTransitionTime": since})
        (assigned,) = row.admission["podSets"]
        status["admission"] = {
            "clusterQueue": row.cluster_queue,
            "podSetAssignments": [
                {
                    "name": assigned["name"],
                    "count": assigned["count"],
                    "flavors": assigned["flavors"],
                    "resourceUsage": {r: f"{a}m" for r, a in assigned["usage"].items()},
                }
            ],
        }
    container = {"name": "c", "resources": {"requests": {"cpu": row.labels["cpu"]}}}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {
            "name": row.name,
            "namespace": row.namespace,
            "uid": row.uid,
            "creationTimestamp": row.queued_at.isoformat(),
        },
        "spec": {
            "queueName": row.queue,
            "priority": row.priority,
            "podSets": [
                {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
            ],
        },
        "status": status,
    }

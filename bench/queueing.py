"""How fast the pure queueing engine decides: a cycle over many queues, and a load in virtual time.

    python -m bench.queueing [--queues 1000] [--pending 100000] [--rounds 5] [--scale 1.0] [--json]

1. A round (one head per queue) over queues in cohorts on three levels with a full house and preemption.
2. A cycle of a running hub over the baseline's queues, when all of their heads preempt at once.
3. The baseline of Kueue's scheduler suite, offline: 15,000 workloads, 39,600 core-seconds on 600 cores,
   so at least 66 s. Played twice: by Kueue's rules as they are, under which a large workload preempts
   medium ones a moment before they are done, again and again; and with `preemption.minimumRuntime` of 1 s,
   which lets them finish. Deciding takes no virtual time.

No store, no network. The last line is one JSON object.
"""

import argparse
import datetime as dt
import json
import resource
import time
from typing import Any

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.free_capacity import Room
from hub.domain.fleet.node_layout import Layout
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import (
    ClusterQueue,
    Flavor,
    FlavorResource,
    LocalQueue,
    Quota,
    ResourceGroup,
)
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import read_policy
from hub.domain.quota.tree import Cohort
from hub.domain.workloads.demand import Constraints, Demand
from hub.offline.inputs import documents, scene
from hub.offline.inputs.scene import Scene
from hub.offline.inputs.settings import SimulationSettings, settings_of
from hub.offline.loads.generator import generated
from hub.offline.play.engine import engine_of
from hub.offline.play.timeline import Timeline
from hub.offline.reports import measures
from shared.collector import spare_the_collector
from shared.resources import PodSet, Resources

NOW = 1_767_225_600_000_000
CPU = FlavorResource("any", "cpu")
LEAVES = 80
BASELINE: dict[str, Any] = {
    "cohorts": [
        {
            "className": "cohort",
            "count": 5,
            "queuesSets": [
                {
                    "className": "cq",
                    "count": 6,
                    "nominalQuota": 20,
                    "borrowingLimit": 100,
                    "reclaimWithinCohort": "Any",
                    "withinClusterQueue": "LowerPriority",
                    "workloadsSets": [],
                }
            ],
        }
    ]
}
STREAMS = (  # class, priority, CPU, workloads per queue, every … ms, runs … ms
    ("small", 50, 1, 350, 100, 200),
    ("medium", 100, 5, 100, 500, 500),
    ("large", 200, 20, 50, 1200, 1000),
)
GENTLE = {"preemption": {"minimumRuntime": "1s"}}


def a_house(queues: int, pending: int) -> Scene:
    """100 cohorts on three levels (4 roots, 16 below, 80 with queues): full, one queue in ten borrows."""
    found = Scene(SimulationSettings(), NOW)
    found.flavors["any"] = Flavor("any")
    for number in range(LEAVES):
        group, root = number % 16, number % 4
        found.cohorts[f"root-{root}"] = Cohort(f"root-{root}")
        found.cohorts[f"group-{group}"] = Cohort(f"group-{group}", f"root-{root}")
        found.cohorts[f"cohort-{number}"] = Cohort(f"cohort-{number}", f"group-{group}")
    policy = read_policy(
        {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
    )
    for number in range(queues):
        name = f"queue-{number:04}"
        found.queues[name] = ClusterQueue(
            name, {}, (ResourceGroup(("cpu",), ("any",)),), {CPU: Quota(20_000)},
            cohort=f"cohort-{number % LEAVES}",
        )  # fmt: skip
        found.policies[name] = policy
        found.local_queues[f"{name}/default"] = LocalQueue(name, "default", name)
        _fill(found, name, 22 if number % 10 == 0 else 18)
    shapes = [(PodSet("main", 1, Resources({"cpu": 1000 * c})),) for c in (1, 5, 20)]
    for number in range(pending):
        name = f"queue-{number % queues:04}"
        kind = number // queues % 3
        found.pending.append(
            PendingWorkload(
                f"w{number:06}", name, f"w{number:06}", name, shapes[kind],
                priority=50 * (1 + kind), queued_at=NOW - pending + number, local_queue="default",
            )
        )  # fmt: skip
    return found


def _fill(found: Scene, name: str, cores: int) -> None:
    for number in range(cores // 2):
        uid = f"{name}-h{number}"
        found.holders.append(
            AdmittedWorkload(
                uid, name, uid, name, {CPU: 2000}, priority=20, reserved_at=NOW - number
            )
        )


def a_cycle(queues: int, pending: int, rounds: int) -> dict[str, float]:
    """Seconds of CPU for building the lines, for the first round, and per later round."""
    house = a_house(queues, pending)
    started = time.process_time()
    engine = engine_of(house)
    built = time.process_time()
    spent = []
    for _ in range(rounds):
        engine.rounds.begin_anew()  # each round a cycle: who waits for victims is looked at again
        before = time.process_time()
        attempts = engine.round(NOW)
        spent.append(time.process_time() - before)
        # Heads without victims of their own are parked, kind after kind; nine in ten preempt.
        assert len(attempts) >= queues * 9 // 10
    return {
        "cycle_build_s": round(built - started, 3),
        "cycle_first_round_s": round(spent[0], 3),
        "cycle_median_round_s": round(sorted(spent)[len(spent) // 2], 3),
    }


def a_live_cycle(queues: int, pending: int) -> dict[str, float]:
    """Seconds of CPU for one cycle of a running hub: a snapshot as its index gives it, rounds to the end.

    Cohorts of ten queues, a full house of small workloads, and in every queue a large one that preempts.
    """
    policy = read_policy(
        {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
    )
    listed, held, used = [], {}, {}
    for number in range(queues):
        name = f"queue-{number:04}"
        queue = ClusterQueue(
            name, {}, (ResourceGroup(("cpu",), ("any",)),), {CPU: Quota(20_000, 100_000)},
            cohort=f"cohort-{number // 10}",
        )  # fmt: skip
        lanes = []
        for kind, priority, cores, *_ in STREAMS:
            sets = (PodSet("main", 1, Resources({"cpu": 1000 * cores})),)
            demand = Demand(f"{name}/{kind}", name, priority, kind, sets, Constraints(kind=""))
            waiting = range(pending // queues // len(STREAMS))
            lanes.append(Lane(demand, [Entry(NOW + n, f"{name}/{kind}/{n}", 0) for n in waiting]))
        listed.append((queue, lanes))
        uids = [f"{name}-h{n}" for n in range(20)]
        held[name] = {
            uid: AdmittedWorkload(
                uid, name, uid, name, {CPU: 1000}, priority=50, reserved_at=NOW - n
            )
            for n, uid in enumerate(uids)
        }
        used[name] = {CPU: 20_000}
    snapshot = Snapshot(
        listed, Ledger([queue for queue, _ in listed], used), FlavorCatalog({"any": Flavor("any")}, {}),
        {}, Room.of(Layout(()), {}), dict.fromkeys(held, policy), held,
    )  # fmt: skip
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    spent = []
    for one_round in (True, True, True, False, False, False):
        before = time.process_time()
        plan = schedule(snapshot, now, Profile(one_round=one_round))
        spent.append(time.process_time() - before)
        assert len(plan.evictions) == queues * 20
    return {
        "live_round_s": round(sorted(spent[:3])[1], 4),
        "live_cycle_s": round(sorted(spent[3:])[1], 4),
    }


def the_baseline(scale: float) -> dict[str, Any]:
    """The suite's generator, its streams `scale` times as long."""
    given: dict[str, Any] = json.loads(json.dumps(BASELINE))
    given["cohorts"][0]["queuesSets"][0]["workloadsSets"] = [
        {
            "count": max(1, round(count * scale)),
            "creationIntervalMs": every,
            "workloads": [
                {"className": name, "priority": priority, "request": cpu, "runtimeMs": runs}
            ],
        }
        for name, priority, cpu, count, every, runs in STREAMS
    ]
    return given


def a_play(scale: float, settings: dict[str, Any]) -> dict[str, Any]:
    """The figures of one play, with admissions per second of CPU."""
    load = generated(the_baseline(scale))
    read = [documents.read_document("load", n, m) for n, m in enumerate(load.manifests, start=1)]
    described = scene.build(read, settings_of(settings), NOW)
    started = time.process_time()
    history = Timeline(described, load).run()
    spent = time.process_time() - started
    told = measures.report(described, history)
    used = [q["trueUse"]["cpu"] for q in told["queues"]]
    return {
        "admissions_per_cpu_s": round(told["admissions"] / spent),
        "workloads_per_cpu_s": round(told["workloads"]["finished"] / spent),
        "makespan_s": told["makespanSeconds"],
        "finished": told["workloads"]["finished"],
        "preemptions": told["preemptions"]["count"],
        "true_use": round(sum(used) / len(used), 4),
        **{
            f"{each['class']}_to_admission_s": {
                key: each["timeToAdmission"][key] for key in ("average", "p95")
            }
            for each in told["classes"]
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queues", type=int, default=1000)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="length of the baseline's streams"
    )
    parser.add_argument("--json", action="store_true", help="only the last line")
    options = parser.parse_args()
    spare_the_collector()  # as the hub and `roadstead simulate` do
    cycle = a_cycle(options.queues, options.pending, options.rounds)
    live = a_live_cycle(30, 15_000)
    gentle, plain = a_play(options.scale, GENTLE), a_play(options.scale, {})
    if not options.json:
        print(f"{options.queues} queues in cohorts on 3 levels, {options.pending} pending:")
        print("  " + ", ".join(f"{key} {value}" for key, value in cycle.items()))
        print("a hub's cycle, 30 queues, 600 that hold quota, 15000 pending, all heads preempt:")
        print("  " + ", ".join(f"{key} {value}" for key, value in live.items()))
        for said, play in (("minimum runtime 1 s", gentle), ("Kueue's rules as they are", plain)):
            print(f"baseline, {said}:")
            print("  " + ", ".join(f"{key} {value}" for key, value in play.items()))
    print(
        json.dumps(
            {
                "queues": options.queues,
                "pending": options.pending,
                **cycle,
                **live,
                **gentle,
                "settings": GENTLE,
                "plain_rules": plain,
                "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    main()

"""The SDK's records against a hub's own answers: neither says what the other does not know."""

import json
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import TERMINAL, State
from roadstead.calls import (
    access,
    checks,
    clusters,
    hub as hub_calls,
    jobs,
    objects,
    rollouts,
    waiting,
    workloads,
)
from roadstead.errors import Rejected
from roadstead.method import CallState
from roadstead.models.jobs import ENDED, JobState, Outcome
from roadstead.models.record import Record
from roadstead.responses import Address, Response
from roadstead.steps import Found, Request
from tests.api.scheduling import scheduling
from tests.api.serving import Served, a_job
from tests.cli.records import Seen
from tests.services.hubs import a_pool, a_queue
from tests.services.kinds.swarms import a_definition, a_swarm

pytestmark = pytest.mark.anyio
ADDRESS = Address("http://hub", "")
# What this story does not come by, and where it is looked at instead.
ELSEWHERE = {
    "ProviderOfHub",  # where a provider is set: tests/sign_in
    *("DecidedObjects", "Undecided"),  # of objects in members: tests/api/test_left_objects.py
    *("AvoidedBecause", "QuotaUse.subtree"),  # tests/cli/test_record_types.py
    *("Change", "WorkloadState"),  # streams: tests/cli/test_client_streams.py
    *(
        "DiffedResource",
        "DriftedField",
        "DriftedResource",
        "SettledDrift",
        "FailedResource",
        "ObservedDrift",
        "Envelope",
        "SelectedResource.envelope",
    ),  # by agents: tests/e2e
    *(
        "PlacementStatus",
        "SelectedResource",
        "DrainedPlacement",
        "Evicted",
        "ClusterVersion",
        "RolloutStage",
        "StageCluster",
        "StageTask",
    ),  # by a loop: tests/cli/test_client_streams.py, tests/services/placements/test_rollout_calls.py
    *(
        *("ChangedField", "ChangedResource", "ClusterWork", "PlacementBinding", "Revision"),
        *("RevisionChanges", "RolledBack", "RolledCluster"),
    ),  # by a loop: tests/api/test_placed.py
    *(
        "Decided",
        "Incarnation",
        "Leftover",
        "LeftObject",
    ),  # of a store that went back: tests/attack, tests/e2e
    # by agents: tests/cli/test_logs.py, tests/e2e/test_logs.py
    *("Container", "JobPods", "LogEnd", "LogRecord", "MemberEvent", "Pod"),
    *(
        "DrainedNamespace",
        "Deleted.message",
    ),  # by consent, or of kubectl's: tests/services/removals
    "ChainedJob",  # of jobs that wait for others: tests/cli/test_chains.py
    *("LostCluster", "EarlierEpoch"),  # after minutes of silence: tests/cli/test_lost_clusters.py
    *("ClusterQueue.error", "Metadata.deletion_timestamp", "WholeJob.warnings"),
}


async def call(hub: Served, steps: Any, seen: Seen) -> Any:
    """Carry a call out on a hub in this process; each record is held to the JSON it was made of."""
    state: CallState[Any] = CallState(steps, ADDRESS)
    found = []
    while state.step is not None:
        if isinstance(state.step, Found):
            found.append(state.step.item)
            state.go(None)
            continue
        ask = state.request
        assert isinstance(ask, Request)
        answer = await hub.admin.request(
            ask.method,
            ADDRESS.url(ask.path, ask.query),
            content=ask.body,
            headers=ADDRESS.headers(ask) | {"Authorization": hub.admin.headers["Authorization"]},
        )
        reply = Response(answer.status_code, answer.headers, answer.content)
        try:
            state.go(ADDRESS.decode(reply))
        except Rejected as refusal:
            state.fail(refusal)
    result = state.result if state.result is not None else found
    for each in result if isinstance(result, list | tuple) else [result]:
        record = each.job if isinstance(each, Outcome) else each
        if isinstance(record, Record):
            seen.hold(type(record), record.raw)
    return result


async def test_records_say_what_the_hub_says(tmp_path: Path) -> None:
    """Over a story with jobs, checks, queues, members and people: no key unknown, no field of another
    type, and no field that the hub never gives.
    """
    seen = Seen()
    async with scheduling(tmp_path) as (hub, live):
        hub.app.state.schedule_index = lambda: live.scheduler.index
        await _of_jobs(hub, live, seen)
        await _of_clusters(hub, live, seen)
        await _of_objects(hub, seen)
        for steps in (
            hub_calls.overview(),
            hub_calls.events(),
            hub_calls.restored(),
            hub_calls.hub_cluster(),
            hub_calls.issue_token("ada"),
            hub_calls.issue_token("eve", "user", ["physics"]),
            hub_calls.tokens(),
            access.ways_in(),
            access.whoami(),
            access.can_i("get", "jobs"),
            access.bind_role("b", "viewer", users=["ada"], namespaces=["team-a"], queues=["q"]),
            access.role_bindings(),
            access.unbind_role("b"),
            access.audit(limit=5),
            hub_calls.availability_rules(),
            objects.apply(json.dumps(a_definition())),
            hub_calls.check_kinds(json.dumps([a_definition(), a_swarm()])),
            hub_calls.kind_versions(),
            hub_calls.retention(),
            hub_calls.run_retention(),
            hub_calls.revoke_token("ada"),
        ):
            await call(hub, steps, seen)
    assert seen.faults == []
    assert set(seen.never()) - ELSEWHERE == set()


async def _of_jobs(hub: Served, live: Any, seen: Seen) -> None:
    await call(hub, checks.serve_check("budget"), seen)
    await live.settle()
    noted = a_job("one", queue="gold")
    asked = {"kueue.x-k8s.io/podset-preferred-topology": "rack"}  # which nothing is done about
    noted["spec"]["template"]["metadata"] = {"annotations": asked}
    first = await call(hub, jobs.submit(noted), seen)
    huge = a_job("huge", queue="gold")
    huge["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "900"}}
    await call(hub, jobs.submit_many([huge, a_job("two", queue="gold")]), seen)
    await call(
        hub, jobs.submit({**huge, "metadata": {"name": "huger", "namespace": "team-a"}}), seen
    )
    await live.settle()
    assert await call(hub, checks.checks(), seen)
    await call(hub, jobs.explain(first.uid), seen)
    await call(hub, checks.set_check(first.uid, "budget", "Ready", message="paid"), seen)
    await live.settle()
    for steps in (
        jobs.jobs(),
        jobs.job("team-a/one"),
        jobs.job_events("team-a/one"),
        jobs.explain("team-a/one"),
        jobs.explain("team-a/two"),
        jobs.explain("team-a/huge"),
        jobs.hold("team-a/two"),
        jobs.release("team-a/two"),
        jobs.cancel("team-a/two"),
        waiting.wait("team-a/two", check=False),
        jobs.delete_job("team-a/two"),
        workloads.queues(),
        workloads.queue("gold"),
        workloads.preview_stop("gold", drain=True),
        workloads.local_queue("team-a/gold"),
        workloads.pending("gold"),
        workloads.workloads(),
    ):
        await call(hub, steps, seen)


async def _of_clusters(hub: Served, live: Any, seen: Seen) -> None:
    grows = {"name": "x", "max_nodes": 2, "nodes": 1, "labels": {}, "taints": []}
    grows |= {"resources": ["cpu"], "shape": [4000]}
    told = {"revision": 1, "states": {"team-a": "Labelled"}}
    await live.cluster(
        "d", a_pool(cpu="4", labels={"disk": "fast"}), growing=[grows], consent=told
    )
    for steps in (
        clusters.add_cluster("new", {"region": "north"}),
        clusters.join_token("new"),
        clusters.clusters(),
        clusters.cluster("c"),
        clusters.namespaces("d"),
        clusters.preview_cordon("c"),
        clusters.cordon("c"),
        clusters.cordon("c", on=False),
        clusters.drain("c", dry_run=True),
        clusters.fence("new", "new"),
    ):
        await call(hub, steps, seen)


async def _of_manifests(hub: Served, documents: list[Any], seen: Seen) -> None:
    """A plan with an envelope whose object every cluster gets, and one by an override that fails."""
    group, named = "placement.kubernetes-fleet.io", {"name": "e", "namespace": "n"}
    inner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    envelope = {"apiVersion": f"{group}/v1", "kind": "ResourceEnvelope", "metadata": named}
    await call(
        hub,
        objects.plan(json.dumps([*documents, {**envelope, "data": {"c": inner}}]), manifests=True),
        seen,
    )
    rule = {"clusterSelector": {}, "jsonPatchOverrides": [{"op": "remove", "path": "/data/a"}]}
    override = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterResourceOverride",
        "metadata": {"name": "o"},
        "spec": {
            "clusterResourceSelectors": [
                {"group": "", "version": "v1", "kind": "Namespace", "name": "n"}
            ],
            "policy": {"overrideRules": [rule]},
        },
    }
    await call(hub, objects.plan(json.dumps([*documents, override]), manifests=True), seen)


async def _of_objects(hub: Served, seen: Seen) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n", "annotations": {"a": "b"}},
    }
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "Namespace", "name": "n"},
                {"group": "", "version": "v1", "kind": "Node"},
            ],
            "strategy": {"type": "External"},
        },
    }
    run = {
        **placement,
        "kind": "ClusterStagedUpdateRun",
        "metadata": {"name": "r"},
        "spec": {"placementName": "p", "stagedRolloutStrategyName": "s"},
    }
    bad = {**namespace, "metadata": {"name": "Bad_"}}
    given = "\n---\n".join(
        json.dumps(each) for each in (namespace, placement, run, bad, *a_queue("q"))
    )
    await call(hub, objects.apply(given, content_type="application/yaml"), seen)
    planned = json.dumps([placement, a_job("planned", queue="gold")])
    await call(hub, objects.plan(planned), seen)
    await _of_manifests(hub, [namespace, placement], seen)
    for steps in (
        objects.objects("Namespace"),
        objects.find("Namespace", "n"),
        objects.placements(),
        objects.placement("p"),
        objects.rebalance("p"),
        rollouts.rollouts(),
        rollouts.rollout("p"),
        rollouts.rollout("r"),
        rollouts.resume_rollout("r"),
        rollouts.stop_rollout("r"),
        objects.render("p", "c"),
        objects.drift(),
        objects.kinds(),
        objects.hand_over(
            "LocalQueue", "q", group="kueue.x-k8s.io", namespace="team-a", to="rest"
        ),
        objects.delete_object("LocalQueue", "q", group="kueue.x-k8s.io", namespace="team-a"),
    ):
        await call(hub, steps, seen)


def test_states_are_the_hubs() -> None:
    """JobState has the hub's states, and the same of them are ends."""
    assert [str(state) for state in JobState] == [str(state) for state in State]
    assert {str(state) for state in ENDED} == {str(state) for state in TERMINAL}

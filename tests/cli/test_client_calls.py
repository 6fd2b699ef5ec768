"""What each method of both clients asks of the hub, and what it gives for the answer."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from roadstead import AsyncClient, Client
from roadstead.calls.table import Calls
from roadstead.method import Following
from roadstead.models.checks import JobChecks, OpenCheck
from roadstead.models.clusters import Cluster, DeclaredCluster, Drained, Fenced, JoinToken
from roadstead.models.explanation import Explanation
from roadstead.models.hub import (
    AvailabilityRules,
    Change,
    Decided,
    HubCluster,
    Incarnation,
    IssuedToken,
    Kept,
    Overview,
    Person,
    Removed,
    Restored,
    WorkloadState,
)
from roadstead.models.jobs import Event, Job, WholeJob
from roadstead.models.objects import Applied, Deleted, HandedOver, HeldKind, KubernetesObject
from roadstead.models.placed import ClusterWork, PlacementBinding, Revision, RolledBack
from roadstead.models.placements import DriftedField, Placement, SettledDrift
from roadstead.models.plan import Evicted, Plan, Rebalanced, RenderedPlacement
from roadstead.models.queues import ClusterQueue, LocalQueue, PendingWorkload
from roadstead.models.record import Record
from tests.cli.filled import filled
from tests.cli.rollout_calls import ROLLOUTS
from tests.cli.scripted import Answer, answering, items

AT_C1 = {"cluster": "c1"}
PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2"
OBJECT = "/v1/objects/g.io/Kind"
WORKLOADS = {"namespace": "n", "queue": "q", "state": "s"}
# The method, its arguments, the requests as method, path and body, and the record or records it gives.
Call = tuple[str, tuple[Any, ...], dict[str, Any], str, Any, Any]
CALLS: list[Call] = [
    ("submit", ({"a": 1},), {"key": "k"}, "POST /v1/jobs", {"a": 1}, Job),
    ("jobs", (), {}, "GET /v1/jobs?limit=500", None, [Job]),
    (
        "jobs",
        (),
        {
            "namespace": "n",
            "queue": "q",
            "state": "s",
            "cluster": "c",
            "name": "a",
            "label_selector": "l",
            "limit": 7,
        },
        "GET /v1/jobs?namespace=n&queue=q&state=s&cluster=c&name=a&labelSelector=l&limit=7",
        None,
        [Job],
    ),
    ("job", ("u",), {}, "GET /v1/jobs/u", None, WholeJob),
    ("job", ("n/j",), {}, "GET /v1/namespaces/n/jobs/j", None, WholeJob),
    ("explain", ("u",), {}, "GET /v1/jobs/u/explain", None, Explanation),
    ("job_events", ("u",), {}, "GET /v1/jobs/u/events?limit=500", None, [Event]),
    ("job_events", ("u",), {"limit": 7}, "GET /v1/jobs/u/events?limit=7", None, [Event]),
    ("cancel", ("u",), {}, "POST /v1/jobs/u/cancel", None, WholeJob),
    ("hold", ("u",), {}, "POST /v1/jobs/u/hold", None, WholeJob),
    ("release", ("u",), {}, "POST /v1/jobs/u/release", None, WholeJob),
    ("delete_job", ("u",), {}, "DELETE /v1/jobs/u", None, WholeJob),
    ("checks", (), {}, "GET /v1/checks?limit=500", None, [OpenCheck]),
    (
        "checks",
        (),
        {"check": "c", "controller": "d", "limit": 7},
        "GET /v1/checks?check=c&controller=d&limit=7",
        None,
        [OpenCheck],
    ),
    (
        "set_check",
        ("u", "c", "Ready"),
        {},
        "PUT /v1/jobs/u/checks/c",
        {"state": "Ready"},
        JobChecks,
    ),
    (
        "set_check",
        ("u", "c", "Retry"),
        {"message": "", "requeue_after_s": 0, "retry_count": 0, "pod_set_updates": []},
        "PUT /v1/jobs/u/checks/c",
        {
            "state": "Retry",
            "message": "",
            "requeueAfterSeconds": 0,
            "retryCount": 0,
            "podSetUpdates": [],
        },
        JobChecks,
    ),
    (
        "serve_check",
        ("c",),
        {"on": False, "message": "m"},
        "PUT /v1/objects/kueue.x-k8s.io/AdmissionCheck/c/status",
        {
            "conditions": [
                {"type": "Active", "status": "False", "reason": "Inactive", "message": "m"}
            ]
        },
        KubernetesObject,
    ),
    (
        "serve_check",
        ("c",),
        {},
        "PUT /v1/objects/kueue.x-k8s.io/AdmissionCheck/c/status",
        {"conditions": [{"type": "Active", "status": "True", "reason": "Active", "message": ""}]},
        KubernetesObject,
    ),
    ("apply", ('{"a": 1}',), {}, "POST /v1/apply", {"a": 1}, [Applied]),
    ("plan", (b"{}",), {"namespace": "n"}, "POST /v1/plan?namespace=n", {}, Plan),
    (
        "plan",
        (b"{}",),
        {"manifests": True, "cluster": "c"},
        "POST /v1/plan?manifests=true&cluster=c",
        {},
        Plan,
    ),
    (
        "render",
        ("n/p", "c"),
        {},
        "GET /v1/placements/n/p/manifests?cluster=c",
        None,
        RenderedPlacement,
    ),
    (
        "rebalance",
        ("n/p",),
        {"carry_out": True},
        "POST /v1/placements/n/p/rebalance",
        {"carryOut": True},
        Rebalanced,
    ),
    *ROLLOUTS,
    (
        "revisions",
        ("n/p",),
        {"limit": 5},
        "GET /v1/revisions?placement=n%2Fp&limit=5",
        None,
        [Revision],
    ),
    (
        "roll_back",
        ("n/p", 3),
        {"dry_run": True},
        "POST /v1/placements/n/p/rollback",
        {"to": 3, "dryRun": True},
        RolledBack,
    ),
    (
        "release_rollback",
        ("p",),
        {"dry_run": True},
        "POST /v1/placements/p/rollback",
        {"release": True, "dryRun": True},
        RolledBack,
    ),
    (
        "bindings",
        (),
        {"cluster": "c", "placement": "n/p"},
        "GET /v1/bindings?placement=n%2Fp&cluster=c&limit=500",
        None,
        [PlacementBinding],
    ),
    (
        "works",
        (),
        {"placement": "p", "cluster": "c", "failed": True},
        "GET /v1/works?cluster=c&placement=p&failed=true&limit=500",
        None,
        [ClusterWork],
    ),
    (
        "evict",
        ("n/p", "c"),
        {"dry_run": True},
        "POST /v1/placements/n/p/evict",
        {"cluster": "c", "dryRun": True},
        Evicted,
    ),
    ("apply", (b"{}",), {"namespace": "n"}, "POST /v1/apply?namespace=n", {}, [Applied]),
    ("objects", ("Kind",), {}, "GET /v1/objects/core/Kind?limit=500", None, [KubernetesObject]),
    (
        "objects",
        ("Kind",),
        {"group": "g.io", "namespace": "n"},
        f"GET {OBJECT}?namespace=n&limit=500",
        None,
        [KubernetesObject],
    ),
    ("kinds", (), {}, "GET /v1/objects", None, [HeldKind]),
    ("find", ("Kind", "x"), {}, "GET /v1/objects/core/Kind/x", None, KubernetesObject),
    (
        "find",
        ("Kind", "x"),
        {"group": "g.io", "namespace": "n"},
        f"GET {OBJECT}/namespaces/n/x",
        None,
        KubernetesObject,
    ),
    ("delete_object", ("Kind", "x"), {}, "DELETE /v1/objects/core/Kind/x", None, Deleted),
    (
        "delete_object",
        ("Kind", "x"),
        {"group": "g.io", "namespace": "n", "drain": True},
        f"DELETE {OBJECT}/namespaces/n/x?drain=true",
        None,
        Deleted,
    ),
    ("placements", (), {}, "GET /v1/placements?limit=500", None, [Placement]),
    ("placement", ("n/p",), {}, "GET /v1/placements/n/p", None, Placement),
    ("drift", (), {}, "GET /v1/drift?limit=500", None, [DriftedField]),
    ("queues", (), {}, "GET /v1/queues", None, [ClusterQueue]),
    ("queue", ("q",), {}, "GET /v1/queues/q", None, ClusterQueue),
    ("local_queue", ("n/q",), {}, "GET /v1/queues/n/q", None, LocalQueue),
    (
        "pending",
        ("q",),
        {},
        f"GET {PENDING}/clusterqueues/q/pendingworkloads?offset=0&limit=1000",
        None,
        [PendingWorkload],
    ),
    (
        "pending",
        ("n/q",),
        {"offset": 3, "limit": 7},
        f"GET {PENDING}/namespaces/n/localqueues/q/pendingworkloads?offset=3&limit=7",
        None,
        [PendingWorkload],
    ),
    (
        "workloads",
        (),
        {**WORKLOADS, "cluster_queue": "c", "condition": "d", "limit": 7},
        "GET /v1/workloads?namespace=n&queue=q&clusterQueue=c&state=s&condition=d&limit=7",
        None,
        [KubernetesObject],
    ),
    ("workload", ("n/w",), {}, "GET /v1/workloads/n/w", None, KubernetesObject),
    (
        "watch_workloads",
        (),
        {},
        "GET /v1/workloads:watch",
        None,
        [WorkloadState],
    ),
    (
        "watch_workloads",
        (),
        {**WORKLOADS, "revision": 5, "kind": "k"},
        "GET /v1/workloads:watch?revision=5&namespace=n&queue=q&kind=k&state=s",
        None,
        [WorkloadState],
    ),
    ("delete_workload", ("n/w",), {}, "DELETE /v1/workloads/n/w", None, WholeJob),
    (
        "report_workload",
        ("n/w", {"a": 1}),
        {},
        "PATCH /v1/workloads/n/w/status",
        {"status": {"a": 1}},
        WorkloadState,
    ),
    (
        "report_workload",
        ("n/w", {"a": 1}),
        {"epoch": 0},
        "PATCH /v1/workloads/n/w/status?epoch=0",
        {"status": {"a": 1}},
        WorkloadState,
    ),
    ("clusters", (), {}, "GET /v1/clusters", None, [Cluster]),
    ("cluster", ("c",), {}, "GET /v1/clusters/c", None, Cluster),
    (
        "add_cluster",
        ("c",),
        {},
        "POST /v1/clusters",
        {"name": "c", "labels": {}, "taints": []},
        DeclaredCluster,
    ),
    (
        "add_cluster",
        ("c", {"l": "v"}, [{"key": "t"}], [{"name": "p"}]),
        {},
        "POST /v1/clusters",
        {"name": "c", "labels": {"l": "v"}, "taints": [{"key": "t"}], "pools": [{"name": "p"}]},
        DeclaredCluster,
    ),
    ("join_token", ("c",), {}, "POST /v1/clusters/c/join-token", None, JoinToken),
    ("cordon", ("c",), {}, "POST /v1/clusters/c/cordon", None, Cluster),
    ("cordon", ("c",), {"on": False}, "POST /v1/clusters/c/uncordon", None, Cluster),
    ("remove_cluster", ("c",), {}, "DELETE /v1/clusters/c", None, Deleted),
    (
        "remove_cluster",
        ("c",),
        {"objects": "Delete"},
        "DELETE /v1/clusters/c?propagationPolicy=Delete",
        None,
        Deleted,
    ),
    ("drain", ("c",), {}, "POST /v1/clusters/c/drain", {}, Drained),
    ("drain", ("c",), {"dry_run": True}, "POST /v1/clusters/c/drain", {"dryRun": True}, Drained),
    ("fence", ("c", "d"), {}, "POST /v1/clusters/c/fence", {"confirm": "d"}, Fenced),
    (
        "fence",
        ("c", "d"),
        {"though_it_answers": True},
        "POST /v1/clusters/c/fence",
        {"confirm": "d", "thoughItAnswers": True},
        Fenced,
    ),
    ("overview", (), {}, "GET /v1/overview", None, Overview),
    ("events", (), {}, "GET /v1/events", None, [Event]),
    (
        "events",
        (),
        {"namespace": "n", "kind": "k", "name": "a", "uid": "u", "limit": 7},
        "GET /v1/events?namespace=n&kind=k&name=a&uid=u&limit=7",
        None,
        [Event],
    ),
    ("changes", (), {}, "GET /v1/changes", None, [Change]),
    ("changes", (0,), {}, "GET /v1/changes?revision=0", None, [Change]),
    ("tokens", (), {}, "GET /v1/tokens", None, [Person]),
    ("issue_token", ("a",), {}, "POST /v1/tokens", {"role": "viewer", "name": "a"}, IssuedToken),
    ("issue_token", ("a", "r"), {}, "POST /v1/tokens", {"role": "r", "name": "a"}, IssuedToken),
    ("revoke_token", ("a",), {}, "DELETE /v1/tokens/viewer/a", None, Person),
    ("revoke_token", ("a", "r"), {}, "DELETE /v1/tokens/r/a", None, Person),
    ("hub_cluster", (), {}, "GET /v1/hub-cluster", None, HubCluster),
    (
        "resume_hub_cluster",
        ("r",),
        {},
        "POST /v1/hub-cluster/resume",
        {"reason": "r"},
        HubCluster,
    ),
    (
        "hand_over",
        ("K", "a"),
        {"group": "g", "namespace": "n", "to": "hub-cluster"},
        "POST /v1/hand-over",
        {"group": "g", "kind": "K", "namespace": "n", "name": "a", "to": "hub-cluster"},
        HandedOver,
    ),
    (
        "hand_over",
        ("K", "a"),
        {},
        "POST /v1/hand-over",
        {"group": "core", "kind": "K", "namespace": "", "name": "a", "to": "rest"},
        HandedOver,
    ),
    (
        "settle_drift",
        ("accept", "c1", "K", "a"),
        {"namespace": "n", "path": "/data/a"},
        "POST /v1/drift:settle",
        {
            "how": "accept",
            "cluster": "c1",
            "kind": "K",
            "namespace": "n",
            "name": "a",
            "path": "/data/a",
        },
        SettledDrift,
    ),
    ("restored", (), {}, "GET /v1/restored", None, Restored),
    ("accept_restored", (), {}, "POST /v1/restored:accept", None, Incarnation),
    *(
        (f"{verb}_leftover", ("u", "c1"), {}, f"POST /v1/restored/u/{verb}", AT_C1, Decided)
        for verb in ("adopt", "forget")
    ),
    ("availability_rules", (), {}, "GET /v1/availability-rules", None, AvailabilityRules),
    (
        "declare_availability",
        ([{"group": "ray.io"}],),
        {},
        "PUT /v1/availability-rules",
        {"rules": [{"group": "ray.io"}]},
        AvailabilityRules,
    ),
    ("retention", (), {}, "GET /v1/retention", None, Kept),
    ("run_retention", (), {}, "POST /v1/retention:run", None, Removed),
]
ELSEWHERE = {"submit_many", "submit_iter", "wait", "wait_all"}  # several requests: test_steps.py


def answer_of(method: str, gives: Any) -> Answer:
    """What the hub answers: one thing, a list, or a stream of one event and no more."""
    if not isinstance(gives, list):
        return Answer(filled(gives))
    listed = items(filled(gives[0]))
    if not isinstance(vars(Calls)[method], Following):
        return listed
    event = filled(gives[0]) if gives[0] is Change else listed.body
    return Answer(b"data: " + json.dumps(event).encode() + b"\n\n")


async def on_loop(address: str, method: str, args: Any, kwargs: Any) -> Any:
    async with AsyncClient(address, "t") as hub:
        made = getattr(hub, method)(*args, **kwargs)
        return [each async for each in made] if isinstance(made, AsyncIterator) else await made


def in_thread(address: str, method: str, args: Any, kwargs: Any) -> Any:
    with Client(address, "t") as hub:
        made = getattr(hub, method)(*args, **kwargs)
        return list(made) if isinstance(made, Iterator) else made


@pytest.mark.parametrize("awaited", [False, True], ids=["Client", "AsyncClient"])
@pytest.mark.parametrize("call", CALLS, ids=[f"{c[0]}{c[1]}{list(c[2])}" for c in CALLS])
def test_a_call_asks_with_all_it_was_given_and_answers_with_its_record(
    call: Call, awaited: bool
) -> None:
    """One request with every argument in its place, under the client's token; every field is read."""
    method, args, kwargs, request, body, gives = call
    with answering(answer_of(method, gives)) as script:
        if awaited:
            answered = asyncio.run(on_loop(script.address, method, args, kwargs))
        else:
            answered = in_thread(script.address, method, args, kwargs)
    assert script.asked == [request]
    assert (json.loads(script.bodies[0]) if script.bodies[0] else None) == body
    sent = {name.lower(): value for name, value in script.headers[0].items()}
    assert sent["authorization"] == "Bearer t"
    assert sent.get("content-type") == (None if body is None else "application/json")
    assert sent.get("idempotency-key") == kwargs.get("key")
    kind: type[Record] = gives[0] if isinstance(gives, list) else gives
    for each in answered if isinstance(gives, list) else [answered]:
        assert type(each) is kind
        assert each.raw == filled(kind)


def test_every_method_and_argument_is_in_the_table() -> None:
    """A method, or a parameter, that is new is held to what it asks too."""
    methods = {name for name in vars(Calls) if not name.startswith("_")}
    assert {call[0] for call in CALLS} == methods - ELSEWHERE
    for name in methods - ELSEWHERE:
        signature = inspect.signature(getattr(Client, name))
        given = {
            key
            for call in CALLS
            if call[0] == name
            for key in signature.bind(None, *call[1], **call[2]).arguments
        }
        assert set(signature.parameters) - given <= {"content_type"}, name

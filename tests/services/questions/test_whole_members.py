"""A member as it is told: every field, of one that has everything."""

import datetime as dt
from pathlib import Path

import orjson
import pytest

from hub.domain.workloads.states import State
from hub.services.context.settings import Settings
from hub.services.questions import clusters as of_clusters
from hub.store import clusters, workloads
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.kinds.dispatched import DISPATCHED
from shared.wire import versions
from tests.store.build import START, a_member, a_workload, call, opened

pytestmark = pytest.mark.anyio
AT = "2026-03-01T12:00:00Z"


async def test_a_member_is_told_whole(tmp_path: Path):
    """What was declared, what its agent reported, and what the hub knows of both."""
    taint = {"key": "site", "value": "edge", "effect": "NoSchedule"}
    capacity = {
        "pools_revision": 0,
        "pools": [
            {
                "labels": {"disk": "ssd"},
                "taints": [taint],
                "resources": ["cpu"],
                "nodes": [{"name": "n", "allocatable": [4000], "free": [1500]}],
            },
            {"labels": {}, "taints": [], "resources": ["cpu"], "nodes": []},
        ],
        "bound": [],
        "node_count": 3,
        "kubernetes_version": "v1.31.0",
        "growing": [
            {
                "name": "burst",
                "max_nodes": 5,
                "nodes": 2,
                "labels": {"pool": "burst"},
                "taints": [taint],
                "resources": ["cpu", "memory"],
                "shape": [8000, 1 << 30],
            }
        ],
        "properties": {"example.com/cost": "3"},
        "property_faults": ["line 2: no"],
        "jobs_forbidden_in": ["team-a"],
    }
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        member = a_member(
            "north",
            labels={"zone": "n"},
            taints=[taint],
            cluster_uid="c-1",
            cordoned=True,
            joined_at=START + dt.timedelta(seconds=1),
            heartbeat_at=START + dt.timedelta(seconds=3),
            agent={
                "version": "0.2.0",
                "protocol": 2,
                "plainHttp": True,
                "clientCertificate": True,
            },
        )

        def fill(tx: Transaction) -> None:
            clusters.add(tx, member)
            clusters.set_capacity(tx, "north", orjson.dumps(capacity))
            held = {"state": State.RUNNING, "cluster": "north"}
            workloads.add(tx, [a_workload("one", **held), a_workload("two", **held)])

        clock.advance(2)
        await db.write(fill)
        clock.advance(2)
        view = await db.read(call(of_clusters.get_cluster, "north", Settings()))
        listed = await db.read(call(of_clusters.list_clusters, Settings()))
        kinds = view.pop("workKinds")
        assert {each["kind"]: each["state"] for each in kinds} == {
            "Job": "Unknown",
            **{kind: "AgentTooOld" for _, kind in DISPATCHED},
        }
        assert view == {
            "name": "north",
            "state": "Cordoned",
            "ready": True,
            "reason": "",
            "message": "",
            "cordoned": True,
            "labels": {"zone": "n"},
            "taints": [taint],
            "jobs": 2,
            "nodeCount": 3,
            "kubernetesVersion": "v1.31.0",
            "resources": {"cpu": {"free": "1500m", "allocatable": "4", "reserved": "0"}},
            "pools": [{"labels": {"disk": "ssd"}, "taints": ["site=edge:NoSchedule"], "nodes": 1}],
            "growingPools": [
                {
                    "name": "burst",
                    "labels": {"pool": "burst"},
                    "taints": ["site=edge:NoSchedule"],
                    "mayAdd": 3,
                    "allocatable": {"cpu": "8", "memory": "1Gi"},
                }
            ],
            "properties": {"k8s.io/k8s-version": "v1.31.0", "example.com/cost": "3"},
            "propertyFaults": ["line 2: no"],
            "jobsForbiddenIn": ["team-a"],
            "clusterUid": "c-1",
            "agentVersion": "0.2.0",
            "agentProtocol": 2,
            "plainHttp": True,
            "clientCertificate": True,
            "credentialExpiresAt": None,
            "hubVersion": versions.release(),
            "createdAt": AT,
            "joinedAt": "2026-03-01T12:00:01Z",
            "heartbeatAt": "2026-03-01T12:00:03Z",
            "capacityAt": "2026-03-01T12:00:02Z",
            "leftovers": 0,
            "leftoverJobs": [],
        }
        for name in ("leftoverJobs", "credentialExpiresAt", "hubVersion"):
            view.pop(name)
        assert listed == {"items": [view], "hubVersion": versions.release()}

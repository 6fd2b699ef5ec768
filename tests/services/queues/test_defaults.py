"""What the hub provides by itself: the default queue follows what is asked, and yields to a user's own."""

import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.quota.declared import Flavor
from hub.services.queues import defaults, multikueue
from hub.services.queues.cohort_rules import Parents
from hub.services.queues.conditions import (
    cluster_queue_conditions,
    held_workload_conditions,
    with_conditions,
)
from hub.services.queues.unreachable_flavors import note, unreachable
from hub.services.reading.draft import draft
from hub.store import changes, clusters, leases, manifests, objects
from hub.store.engine import Database
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.registry import parse
from tests.services.hubs import a_job, a_pool
from tests.store.build import START, a_member, an_object, call, opened

pytestmark = pytest.mark.anyio


async def queue(db: Database) -> StoredObject:
    found = await db.read(call(objects.find, KUEUE, "ClusterQueue", "", "default"))
    assert found is not None
    return found


async def has(db: Database) -> list[str]:
    """Resources that the default queue has quota for."""
    return sorted(defaults.covered_resources((await queue(db)).spec or {}))


async def test_the_default_queue_grows_and_is_told_anew(tmp_path: Path):
    """It keeps what it has; its manifest, hash, generation and time are those of the change."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:

        def first(tx: Transaction) -> None:
            clusters.add(tx, a_member("north"))
            pools = [a_pool(cpu=1), a_pool(gpu=1), a_pool(cpu=1)]
            clusters.set_capacity(tx, "north", orjson.dumps({"pools": pools}))
            defaults.ensure_default_queue(tx, ["team-a", "team-b"], {"example.com/a"})

        await db.write(first)
        assert await has(db) == ["cpu", "example.com/a", "memory", "nvidia.com/gpu", "pods"]
        before = await queue(db)
        clock.advance(60)
        await db.write(call(defaults.ensure_default_queue, ["team-a"], {"cpu"}))
        assert (await queue(db)).generation == 1
        await db.write(call(defaults.ensure_default_queue, ["team-a"], {"example.com/b"}))
        after = await queue(db)
        assert "example.com/a" in await has(db)
        assert "example.com/b" in await has(db)
        assert after.hash != before.hash
        assert (after.generation, after.updated_at, after.created_at) == (2, clock.now(), START)
        assert defaults.covered_resources(after.manifest["spec"]) == set(await has(db))
        locals_ = await db.read(call(objects.list_kind, KUEUE, "LocalQueue"))
        assert [(r.namespace, r.name, r.origin) for r in locals_] == [
            ("team-a", "default", "hub"),
            ("team-b", "default", "hub"),
        ]
        assert {r.status["conditions"][0]["status"] for r in locals_} == {"True"}


async def test_what_nobody_has_or_asks_for_loses_its_quota(tmp_path: Path):
    """What members have, what jobs ask for, cpu and memory stay; a user's own queue is left alone."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            clusters.add(tx, a_member("north"))
            clusters.set_capacity(tx, "north", orjson.dumps({"pools": [a_pool(gpu=1)]}))
            job = draft(parse(a_job("one", requests={"example.com/asked": "1"})), tx.now)
            manifests.add_shapes(tx, {"s": job.pod_sets()})
            defaults.ensure_default_queue(tx, ["team-a"], {"example.com/asked", "typo"})

        await db.write(fill)
        await db.write(defaults.forget_resources)
        expected = ["cpu", "example.com/asked", "memory", "nvidia.com/gpu", "pods"]
        assert await has(db) == expected
        row = await queue(db)
        assert row.generation == 2
        await db.write(defaults.forget_resources)
        assert (await queue(db)).generation == 2
        await db.write(lambda tx: objects.remove(tx, row.uid))
        own = row._replace(uid="own", origin="rest")
        await db.write(call(objects.add, own))
        await db.write(call(manifests.trim_shapes, START.replace(year=2030)))
        await db.write(defaults.forget_resources)
        await db.write(call(defaults.ensure_default_queue, ["team-a"], {"example.com/new"}))
        assert await queue(db) == own


async def test_namespaces_that_are_missing_are_anybodys(tmp_path: Path):
    """Each of several is made, once; whoever applies it later may."""
    async with opened(tmp_path) as db:
        for names in (["a", "b", ""], ["b", "c"]):
            await db.write(call(defaults.ensure_namespaces, names))
        found = await db.read(call(objects.list_kind, "", "Namespace"))
        assert [(row.name, row.origin) for row in found] == [(n, "any") for n in "abc"]


@pytest.mark.parametrize(
    ("member", "status", "message"),
    [
        (None, "False", "no member cluster is called w"),
        (a_member("w", heartbeat_at=START), "False", "member w has not joined yet"),
        (a_member("w", joined_at=START), "False", "the agent of member w is silent"),
        (a_member("w", joined_at=START, heartbeat_at=START), "True", "Connected"),
        (
            a_member("w", joined_at=START, heartbeat_at=START.replace(hour=11)),
            "False",
            "the agent of member w is silent",
        ),
    ],
)
def test_a_worker_says_what_is_missing(member: Any, status: str, message: str):
    """A member, its agent, or a word of it of late."""
    said = multikueue.worker_says("w", member, START)
    assert (said[0], said[2]) == (status, message)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (None, ("False", "BadConfig")),
        ([], ("True", "Active")),
        (["up"], ("True", "Active")),
        (["up", "down"], ("True", "SomeActiveClusters")),
        (["up", "gone"], ("True", "SomeActiveClusters")),
        (["down", "gone"], ("False", "NoUsableClusters")),
        (["gone"], ("False", "NoUsableClusters")),
    ],
)
def test_a_check_dispatches_while_one_worker_is_there(names: Any, expected: tuple[str, str]):
    """Missing and inactive ones count alike, together."""
    assert multikueue.check_says("c", names, {"up": True, "down": False})[:2] == expected


def _member(labels: dict[str, str], revision: int = 2, *, grows: bool = False) -> Cluster:
    pool = a_pool(cpu="8", labels=labels)
    report: dict[str, Any] = {"pools_revision": revision, "pools": [pool]}
    declared: list[Any] = []
    if grows:
        report["pools"] = []
        declared = [{"name": "g", "maxNodes": 3, "labels": labels, "allocatable": {"cpu": "8"}}]
    return with_report(Cluster("north"), report, declared, {"gpu": 1, "zone": 1})


@pytest.mark.parametrize(
    ("fleet", "since", "found"),
    [
        ([_member({"gpu": "a", "zone": "z"})], 1, {}),
        ([_member({"gpu": "b"}, grows=True)], 1, {"f": "gpu=a"}),
        ([_member({"gpu": "a"}, grows=True)], 1, {}),
        ([_member({"gpu": "b"}), _member({"gpu": "b"}, revision=1)], 2, {}),
        ([_member({"gpu": "b"}), _member({"gpu": "b"}, revision=2)], 2, {"f": "gpu=a"}),
    ],
    ids=["more labels", "grows otherwise", "grows so", "one has not said", "all have said"],
)
def test_a_flavor_is_found_where_nodes_have_its_labels_among_others(
    fleet: list[Cluster], since: int, found: dict[str, str]
):
    """Every member must have reported by the key, the slowest too; nodes to come count alone as well."""
    flavor = Flavor("f", labels=(("gpu", "a"),))
    assert unreachable([flavor], fleet, {"gpu": since}) == found


@pytest.mark.parametrize(
    ("found", "owned", "hindrance", "reason"),
    [
        (False, False, "", "QueueNotFound"),
        (True, False, "", "HasOwner"),
        (False, True, "", "HasOwner"),
        (False, True, "too many pods", "HasOwner"),
        (False, False, "too many pods", "Inadmissible"),
        (True, False, "too many pods", "Inadmissible"),
    ],
)
def test_a_held_workload_says_why(found: bool, owned: bool, hindrance: str, reason: str):
    """What it asks for hinders it unless a Job owns it."""
    spec = {"queueName": "q"}
    (said,) = held_workload_conditions(spec, queue_found=found, owned=owned, hindrance=hindrance)
    assert (said["type"], said["status"], said["reason"]) == ("QuotaReserved", "False", reason)


def test_a_queue_says_everything_that_is_so_at_once():
    """That it admits, that nodes are not found, and that a field is not enforced."""
    spec = {
        "concurrentAdmissionPolicy": "x",
        "resourceGroups": [{"flavors": [{"name": "f"}]}, {"flavors": [{"name": "g"}]}],
    }
    said = cluster_queue_conditions(spec, None, {"g": "gpu=a", "other": "b=c"})
    lost = "ResourceFlavor g: no member has nodes with gpu=a"
    assert [(c["type"], c["status"], c["message"]) for c in said] == [
        ("Active", "True", f"Can admit new workloads; {lost}"),
        ("NodesFound", "False", lost),
        ("LimitsEnforced", "False", "concurrentAdmissionPolicy: accepted, not yet enforced"),
    ]


def test_a_condition_keeps_its_time_until_its_status_changes():
    """Another reason, message or generation is none; what else the status says stays."""
    later = START.replace(hour=13)
    first = {"type": "Active", "status": "True", "reason": "A", "message": "a"}
    status = with_conditions({"other": 1}, [first], START, 1)
    stands = {**first, "lastTransitionTime": "2026-03-01T12:00:00Z", "observedGeneration": 1}
    assert status == {"other": 1, "conditions": [stands]}
    assert with_conditions(status, [first], later, 1) is None
    worded = {**first, "reason": "B", "message": "b"}
    status = with_conditions(status, [worded], later, 2)
    assert status == {"other": 1, "conditions": [{**stands, **worded, "observedGeneration": 2}]}
    status = with_conditions(status, [{**worded, "status": "False"}], later, 2)
    assert status is not None
    assert status["conditions"][0]["lastTransitionTime"] == "2026-03-01T13:00:00Z"


async def test_a_cycle_of_cohorts_is_found_across_one_apply(tmp_path: Path):
    """Those applied before count, one that is being deleted does not; who merely leads there may."""
    async with opened(tmp_path) as db:

        def cohort(name: str, parent: str, **columns: Any) -> StoredObject:
            spec = {"parentName": parent}
            return an_object(
                name, api_group=KUEUE, kind="Cohort", namespace="", spec=spec, **columns
            )

        def run(tx: Transaction) -> None:
            for row in (cohort("a", "b"), cohort("x", "y"), cohort("y", "x"),
                        cohort("gone", "c", deleted_at=START)):  # fmt: skip
                objects.add(tx, row)
            parents = Parents(tx)
            parents.hang("b", "c")
            parents.hang("c", "gone")
            parents.hang("z", "x")
            with pytest.raises(Rejected, match="c -> a -> b -> c"):
                parents.hang("c", "a")
            parents.hang("c", "d")
            parents.hang("d", "")

        await db.write(run)


async def test_a_flavor_that_is_found_again_is_complained_of_no_longer(tmp_path: Path):
    """What was noted is replaced, by nothing too, and the queues say so; the same again is no news."""
    async with opened(tmp_path) as db:
        spec = {"resourceGroups": [{"flavors": [{"name": "f", "resources": []}]}]}

        def fill(tx: Transaction) -> None:
            leases.take(tx, "leader", dt.timedelta(hours=1))
            kinds = {"api_group": KUEUE, "namespace": ""}
            objects.add(tx, an_object("f", **kinds, kind="ResourceFlavor"))
            objects.add(tx, an_object("q", **kinds, kind="ClusterQueue", spec=spec))

        await db.write(fill)

        async def noted(**found: str) -> list[str]:
            await db.write(call(note, found, 1))
            row = await db.read(call(objects.get, "q"))
            assert row is not None
            return [each["type"] for each in (row.status or {"conditions": []})["conditions"]]

        assert await noted(f="gpu=a") == ["Active", "NodesFound"]
        before = await db.read(changes.last_revision)
        assert await noted(f="gpu=a") == ["Active", "NodesFound"]
        assert await db.read(changes.last_revision) == before
        assert await noted() == ["Active"]

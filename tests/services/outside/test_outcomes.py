"""Retry, Rejected, pod-set updates, and what else may end a reservation."""

import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.quota.declared import FlavorResource
from hub.services.jobs import cancel
from hub.services.works import compose
from hub.services.works.compose import Stamp
from hub.store import clusters, manifests, works
from shared.errors import Rejected
from tests.services.autoscaled import a_member, report
from tests.services.build import a_class
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.outside.controller import (
    a_check,
    a_checked_queue,
    activate,
    answer,
    checked,
    reserved,
)

pytestmark = pytest.mark.anyio
CPU = FlavorResource("gold-flavor", "cpu")


async def test_retry_evicts_and_waits(tmp_path: Path) -> None:
    """Retry frees the quota at once; the job queues as of now and is out of line for the time asked."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        hub.clock.advance(10)
        await answer(hub, uid, "budget", "Retry", message="no money", requeueAfterSeconds=120)
        await hub.settle()
        job = await hub.job(uid)
        assert job.state == "Pending"
        assert job.evicted["reason"] == "AdmissionCheck"
        assert "no money" in job.evicted["message"]
        assert job.queued_at == hub.clock.now()
        assert job.requeue_at == hub.clock.now() + dt.timedelta(seconds=120)
        assert hub.scheduler.index.ledger.used("gold", CPU) == 0
        hub.clock.advance(121)
        await heard(hub, "a")
        await hub.settle()
        job = await hub.job(uid)
        assert job.state == "Reserved"
        assert (job.checks["budget"]["state"], job.checks["budget"]["retryCount"]) == (
            "Pending",
            1,
        )


async def heard(hub: Running, name: str) -> None:
    """The agent of a cluster is heard now."""
    await hub.hub.db.write(lambda tx: clusters.beat(tx, {name: tx.now}))
    hub.scheduler._heard_at = -10.0
    await hub.scheduler.follow({})


async def test_rejected_deactivates(tmp_path: Path) -> None:
    """Rejected ends it: Deactivated, with the check's words."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await answer(hub, uid, "budget", "Rejected", message="never")
        await hub.settle()
        job = await hub.job(uid)
        assert job.state == "Deactivated"
        assert "never" in job.message
        assert (job.evicted["reason"], job.evicted["cause"]) == (
            "Deactivated",
            "AdmissionCheck",
        )
        assert hub.scheduler.index.ledger.used("gold", CPU) == 0


@pytest.mark.parametrize(("state", "after"), [("Retry", "Pending"), ("Rejected", "Deactivated")])
async def test_a_running_job_obeys_its_checks_too(tmp_path: Path, state: str, after: str) -> None:
    """A check that changes its mind takes a running job back through its member."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await answer(hub, uid, "budget", "Ready")
        await hub.settle()
        await hub.transition("offer", uid)
        await hub.transition("start", uid)
        await answer(hub, uid, "budget", state, message="stop")
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to) == ("Withdrawing", after)
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert work.action == "Withdraw"


async def test_updates_of_checks_reach_the_pods(tmp_path: Path) -> None:
    """Labels, annotations, node selectors and tolerations of all checks enter what is applied."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget", "zone")
        toleration = {"key": "spot", "operator": "Exists"}
        await answer(
            hub, uid, "budget", "Ready",
            podSetUpdates=[{"name": "main", "labels": {"cost-centre": "7"}}],
        )  # fmt: skip
        await answer(
            hub, uid, "zone", "Ready",
            podSetUpdates=[{
                "name": "main", "annotations": {"zone": "b"}, "nodeSelector": {"zone": "b"},
                "tolerations": [toleration],
            }],
        )  # fmt: skip
        await hub.settle()
        await with_zones(hub, {"a": "b"})
        (work,) = await hub.hub.read(works.of_uids, [uid])
        found = await hub.hub.read(manifests.latest_of, [uid])
        stamp = Stamp("hub", "1", uid, 1, 1, "h", "")
        job = compose.compose_job(orjson.loads(found[uid]), work.options, stamp)
        template = job["spec"]["template"]
        assert template["metadata"]["labels"]["cost-centre"] == "7"
        assert template["metadata"]["annotations"]["zone"] == "b"
        assert template["spec"]["nodeSelector"] == {"zone": "b"}
        assert template["spec"]["tolerations"] == [toleration]


async def with_zones(hub: Running, zones: dict[str, str], cpu: str = "8") -> None:
    """Members report their nodes by the keys that are in force, each in a zone."""
    revision = hub.scheduler.index.keys.revision
    for name, zone in zones.items():
        pool = a_pool(cpu=cpu, memory="8Gi", labels={"zone": zone})
        await hub.cluster(name, pool, pools_revision=revision)
    await hub.settle()


async def into_zone(hub: Running, uid: str, zone: str) -> None:
    updates = [{"name": "main", "nodeSelector": {"zone": zone}}]
    await answer(hub, uid, "budget", "Ready", podSetUpdates=updates)
    await hub.settle()


async def test_a_node_selector_of_a_check_chooses_the_cluster_anew(tmp_path: Path) -> None:
    """The tentative cluster has no such nodes and another has: the job goes there."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await into_zone(hub, uid, "b")
        await with_zones(hub, {"a": "a", "b": "b"})
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "b")
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert (work.cluster, work.options.node_selector) == ("b", {"zone": "b"})


async def test_where_the_tentative_cluster_has_such_nodes_it_stays(tmp_path: Path) -> None:
    """What the checks ask for is there: nothing is chosen anew."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await with_zones(hub, {"b": "b"})
        await into_zone(hub, uid, "b")
        await with_zones(hub, {"a": "b", "b": "b"})
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "a")


async def test_nodes_that_nobody_has_may_still_come(tmp_path: Path) -> None:
    """Where no member has a node as the checks ask for, the tentative cluster keeps the job."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await into_zone(hub, uid, "c")
        await with_zones(hub, {"a": "a", "b": "b"})
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "a")


async def test_a_full_cluster_with_such_nodes_is_waited_for(tmp_path: Path) -> None:
    """Another member has the nodes, and no room on them: reserved until it has."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await into_zone(hub, uid, "b")
        await with_zones(hub, {"b": "b"}, cpu="0")
        await with_zones(hub, {"a": "a"})
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Reserved", "a")
        assert "waits for a cluster with room on the nodes" in job.message
        await with_zones(hub, {"b": "b"})
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "b")


async def test_updates_that_conflict_evict(tmp_path: Path) -> None:
    """Two checks that disagree can not be carried out: evicted with a back-off, and it says why."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "one", "two")
        for name, zone in (("one", "a"), ("two", "b")):
            updates = [{"name": "main", "nodeSelector": {"zone": zone}}]
            await answer(hub, uid, name, "Ready", podSetUpdates=updates)
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.evicted["reason"]) == ("Pending", "AdmissionCheck")
        want = "nodeSelector zone: check one wants a, check two wants b"
        assert want in job.evicted["message"]
        assert job.requeue_at is not None


async def test_a_cordoned_cluster_gives_reservations_back(tmp_path: Path) -> None:
    """Reserved on a cluster that is cordoned: quota is freed, and another cluster is chosen."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await hub.cluster("b", a_pool(cpu="4", memory="8Gi"))
        await hub.hub.db.write(lambda tx: clusters.change(tx, "a", cordoned=True))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Reserved", "b")
        told = await hub.explain(uid)
        assert any("cluster a, chosen tentatively" in e["message"] for e in told["timeline"])


async def test_room_that_went_gives_reservations_back(tmp_path: Path) -> None:
    """Nodes that were reserved are gone: who reserved last gives way, who reserved first stays."""
    async with running(tmp_path) as hub:
        first = await reserved(hub, requests={"cpu": "4"})
        hub.clock.advance(1)
        (second,) = await hub.apply(a_job("two", queue="gold", requests={"cpu": "4"}))
        await hub.settle()
        assert (await hub.job(second)).state == "Reserved"
        await hub.cluster("a", a_pool(cpu="4", memory="8Gi"))
        await hub.settle()
        assert (await hub.job(first)).state == "Reserved"
        assert (await hub.job(second)).state == "Pending"


async def test_nodes_to_come_may_be_reserved(tmp_path: Path) -> None:
    """A reservation on a pool that may grow stays, report after report, and is placed there when Ready."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 2)
        await a_checked_queue(hub, "budget")
        small: dict[str, Any] = {"requests": {"cpu": "4"}, "queue": "gold"}
        first, second, third = "", "", ""
        for name in ("x", "y", "z"):
            (uid,) = await hub.apply(a_job(name, **small))
            first, second, third = second, third, uid
            hub.clock.advance(1)
        await hub.settle()
        for _ in range(3):
            hub.clock.advance(1)
            await report(hub, "east")
            await hub.settle()
            states = [(await hub.job(uid)).state for uid in (first, second, third)]
            assert states == ["Reserved", "Reserved", "Pending"]
        events = (await hub.explain(first))["timeline"]
        assert [e["reason"] for e in events].count("QuotaReserved") == 1
        await answer(hub, first, "budget", "Ready")
        await hub.settle()
        row = await hub.job(first)
        assert (row.state, row.new_nodes) == ("Placed", 1)


async def test_a_stopped_queue_takes_reservations_back(tmp_path: Path) -> None:
    """stopPolicy Hold: those merely holding a reservation lose it."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await hub.apply(a_queue("gold", spec=checked("budget", stopPolicy="Hold"))[1])
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.evicted["reason"]) == ("Pending", "ClusterQueueStopped")


async def test_a_reservation_gives_way_to_higher_priority(tmp_path: Path) -> None:
    """Nobody runs it: a preempted reservation is gone at once, and the preemptor is next."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await hub.apply(a_check("budget"), a_class("high", 100))
        await activate(hub, "budget")
        spec = checked("budget", **preemption)
        await hub.apply(*a_queue("gold", spec=spec, quota={"cpu": "2"}))
        (low,) = await hub.apply(a_job("low", queue="gold", requests={"cpu": "2"}))
        await hub.settle()
        labels = {"kueue.x-k8s.io/priority-class": "high"}
        (high,) = await hub.apply(
            a_job("high", queue="gold", requests={"cpu": "2"}, labels=labels)
        )
        await hub.settle()
        assert (await hub.job(high)).state == "Reserved"
        job = await hub.job(low)
        assert (job.state, job.evicted["reason"]) == ("Pending", "Preempted")


async def test_a_cancelled_reservation_frees_its_quota(tmp_path: Path) -> None:
    """Cancelled while checks are open: it ends at once, and nothing stays charged."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await hub.hub.write(cancel.cancel_job, uid, "somebody")
        await hub.settle()
        assert (await hub.job(uid)).state == "Cancelled"
        assert hub.scheduler.index.ledger.used("gold", CPU) == 0
        assert len(hub.scheduler.index.reservations) == 0


async def test_an_unreadable_reservation_stops_no_other(tmp_path: Path) -> None:
    """A reservation whose row can not be used is given back; the others go on."""
    async with running(tmp_path) as hub:
        bad = await reserved(hub)
        (good,) = await hub.apply(a_job("two", queue="gold"))
        await hub.settle()
        await answer(hub, good, "budget", "Ready")
        admission = (await hub.job(bad)).admission
        del admission["podSets"][0]["flavors"]
        await hub.change(bad, admission=admission)
        await hub.settle()
        assert (await hub.job(good)).state == "Placed"
        told = await hub.explain(bad)
        assert any("KeyError" in each["message"] for each in told["timeline"])


async def test_checks_that_a_queue_drops_are_waited_for_no_longer(tmp_path: Path) -> None:
    """A queue that asks for another check than before: its reservations wait for that one."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await hub.apply(a_check("other"))
        await activate(hub, "other")
        await hub.apply(a_queue("gold", spec=checked("other"))[1])
        await hub.settle()
        assert (await hub.job(uid)).checks.keys() == {"other"}
        await hub.apply(a_queue("gold")[1])
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_flavors_decide_which_checks_are_asked(tmp_path: Path) -> None:
    """A check on another flavor than the assigned one is not asked."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await hub.apply(a_check("spot-only"), a_check("always"))
        await activate(hub, "spot-only", "always")
        quotas = [{"name": "cpu", "nominalQuota": "100"}]
        flavors = [{"name": n, "resources": quotas} for n in ("gold-flavor", "spot-flavor")]
        groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
        rules = checked(("spot-only", ["spot-flavor"]), "always", resourceGroups=groups)
        await hub.apply(a_queue("spot")[0], *a_queue("gold", spec=rules))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        assert (await hub.job(uid)).checks.keys() == {"always"}


async def test_answers_out_of_place_are_refused(tmp_path: Path) -> None:
    """A check that is not asked, a state that is none, a pod set that is none, a job that waits."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        for code, name, state, more in (
            ("UnknownCheck", "nobody", "Ready", {}),
            ("InvalidState", "budget", "Maybe", {}),
            ("UnknownPodSet", "budget", "Ready", {"podSetUpdates": [{"name": "no"}]}),
            ("OutOfRange", "budget", "Retry", {"requeueAfterSeconds": -1}),
            ("UnknownField", "budget", "Ready", {"approved": True}),
        ):
            with pytest.raises(Rejected) as refused:
                await answer(hub, uid, name, state, **more)
            assert refused.value.code == code
        await answer(hub, uid, "budget", "Retry")
        with pytest.raises(Rejected, match="NotReserved"):
            await answer(hub, uid, "budget", "Ready")


async def test_a_check_adds_tolerations_to_those_of_the_flavor(tmp_path: Path) -> None:
    """The pods may go to the flavor's tainted nodes as without the check, and to the check's."""
    own = {"key": "gold", "operator": "Exists", "effect": "NoSchedule"}
    spot = {"key": "spot", "operator": "Exists"}
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget", flavor={"tolerations": [own]})
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        updates = [{"name": "main", "tolerations": [spot]}]
        await answer(hub, uid, "budget", "Ready", podSetUpdates=updates)
        await hub.settle()
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert list(work.options.tolerations) == [own, spot]


async def test_a_state_without_words_has_none(tmp_path: Path) -> None:
    """What a check said while it was Pending is not what it says of being Ready."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget", "other")
        await answer(hub, uid, "budget", "Pending", message="asking the bank")
        assert (await hub.job(uid)).checks["budget"]["message"] == "asking the bank"
        await answer(hub, uid, "budget", "Ready")
        assert (await hub.job(uid)).checks["budget"]["message"] == ""

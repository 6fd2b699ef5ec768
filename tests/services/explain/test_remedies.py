"""Explain says what would change it: each sentence is what the engine says of the other picture."""

from pathlib import Path

import pytest

from hub.domain.cycle.profile import Profile
from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Queueing, Settings
from hub.services.index.catalog import drained
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.scheduling import preempt
from hub.services.scheduling.grounds import Grounds
from shared.kinds.registry import parse
from tests.services.build import WITHIN, in_cohort, start, states, submit, told, urgent
from tests.services.hubs import Running, a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


async def remedies(hub: Running, uid: str) -> dict[str, str]:
    return {r["kind"]: r["message"] for r in (await told(hub, uid))["remedies"]}


async def test_it_names_those_whose_end_would_do(tmp_path: Path) -> None:
    """Only as many as are needed, the largest first, with what they hold and since when."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "8", cohort=""))
        uids = await submit(hub, "a", "1", "small") + await submit(hub, "a", "4", "one", "two")
        await hub.settle()
        hub.clock.advance(28)
        (waits,) = await submit(hub, "a", "4", "waits")
        await hub.settle()
        assert await states(hub, [*uids, waits]) == ["Placed", "Placed", "Pending", "Pending"]
        found = await remedies(hub, waits)
        assert found["Release"] == (
            "fits when 4 cpu of flavor any are released: team-a/one (4 cpu, admitted 29 s ago)"
        )


async def test_what_is_released_makes_it_fit(tmp_path: Path) -> None:
    """The promise is kept: once those named have ended, the job is placed."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4"), *in_cohort("b", "4"))
        mine = await submit(hub, "a", "2", "a1", "a2", "a3")
        theirs = await submit(hub, "b", "1", "b1", "b2")
        await hub.settle()
        (waits,) = await submit(hub, "b", "3", "waits")
        await hub.settle()
        told_ = await told(hub, waits)
        (release,) = [r for r in told_["remedies"] if r["kind"] == "Release"]
        named = [job["uid"] for job in release["jobs"]]
        assert named
        await start(hub, *mine, *theirs)
        for uid in named:
            await hub.transition("succeed", uid)
        await hub.settle()
        assert await states(hub, [waits]) == ["Placed"]


async def test_it_says_the_priority_that_would_do(tmp_path: Path) -> None:
    """The least priority above which somebody could be preempted."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        await start(hub, high)
        (waits,) = await submit(hub, "a", "4", "waits")
        await hub.settle()
        found = await remedies(hub, waits)
        assert found["Priority"].startswith(
            "with a priority above 100 it would preempt team-a/high (4 cpu, admitted"
        )


async def test_it_says_how_much_more_quota_would_do(tmp_path: Path) -> None:
    """The nominal quota that is missing, exactly: with it the job is placed, with less it is not."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        await submit(hub, "a", "3", "one")
        (waits,) = await submit(hub, "a", "6", "two")
        await hub.settle()
        found = await remedies(hub, waits)
        assert found["Quota"] == (
            "fits with 5 cpu of flavor any more as nominalQuota of ClusterQueue a"
        )
        await hub.apply(*in_cohort("a", "8", cohort=""))
        await hub.settle()
        assert await states(hub, [waits]) == ["Pending"]
        await hub.apply(*in_cohort("a", "9", cohort=""))
        await hub.settle()
        assert await states(hub, [waits]) == ["Placed"]


async def test_more_of_one_flavor_is_enough(tmp_path: Path) -> None:
    """Flavors are alternatives: each is told alone, not all of them together."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        flavor, queue, door = in_cohort("a", "2", cohort="")
        (group,) = queue["spec"]["resourceGroups"]
        other = {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
        group["flavors"].append(other)
        await hub.apply(flavor, {**flavor, "metadata": {"name": "spot"}}, queue, door)
        (waits,) = await submit(hub, "a", "4", "wide")
        await hub.settle()
        found = (await told(hub, waits))["remedies"]
        amounts = [r["amounts"] for r in found if r["kind"] == "Quota"]
        assert amounts == [
            [{"flavor": "any", "resource": "cpu", "amount": "2"}],
            [{"flavor": "spot", "resource": "cpu", "amount": "3"}],
        ]


async def test_it_says_which_policy_would_let_it_preempt(tmp_path: Path) -> None:
    """A queue that reclaims nothing could: the mildest policy, and who would go."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "2"), *in_cohort("b", "2"))
        await submit(hub, "a", "4", "borrower")
        await hub.settle()
        (waits,) = await submit(hub, "b", "2", "owner")
        await hub.settle()
        found = await remedies(hub, waits)
        assert found["Policy"].startswith(
            "with reclaimWithinCohort: Any in ClusterQueue b it would preempt "
            "team-a/borrower (4 cpu, queue a, admitted"
        )


async def test_it_says_how_much_higher_a_borrowing_limit_must_be(tmp_path: Path) -> None:
    """Where the cohort has quota left and the queue may not borrow it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "2", borrow="1"), *in_cohort("b", "8"))
        (waits,) = await submit(hub, "a", "5", "wide")
        await hub.settle()
        assert (await remedies(hub, waits))["BorrowingLimit"] == (
            "fits with a borrowingLimit of ClusterQueue a higher by 2 cpu of flavor any"
        )


async def test_it_says_which_nodes_would_do(tmp_path: Path) -> None:
    """Where quota fits and no cluster does: what the nearest would need, per node."""
    async with running(tmp_path) as hub:
        await hub.cluster("b", a_pool(nodes=1, cpu="64", gpu=4))
        await hub.apply(*in_cohort("a", "1000", cohort=""))
        gang = a_job("gang", queue="a", requests={"cpu": "40"}, count=3)
        (waits,) = await hub.apply(gang)
        await hub.settle()
        assert (await remedies(hub, waits))["Nodes"] == (
            "fits with 2 more nodes, each with 40 cpu free on cluster b"
        )
        await hub.cluster("b", a_pool(nodes=2, cpu="64"))
        await hub.settle()
        assert await states(hub, [waits]) == ["Pending"]
        await hub.cluster("b", a_pool(nodes=3, cpu="64"))
        await hub.settle()
        assert await states(hub, [waits]) == ["Placed"]


async def test_what_else_is_missing_is_said(tmp_path: Path) -> None:
    """More quota alone does not help where no cluster would hold it then: the remedy has quota and nodes."""
    async with running(tmp_path) as hub:
        await hub.cluster("b", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        (waits,) = await hub.apply(a_job("wide", queue="a", requests={"cpu": "8"}))
        await hub.settle()
        assert (await remedies(hub, waits))["Nodes"] == (
            "fits with a node with 8 cpu free on cluster b and 4 cpu of flavor any more as "
            "nominalQuota of ClusterQueue a"
        )


async def test_it_says_when_fewer_pods_would_do(tmp_path: Path) -> None:
    """The most pods that would be admitted at once."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "5", cohort=""))
        (waits,) = await hub.apply(a_job("gang", queue="a", requests={"cpu": "1"}, count=8))
        await hub.settle()
        assert (await remedies(hub, waits))["FewerPods"] == (
            "with 5 pods it would be admitted now"
        )


async def test_it_says_that_the_budget_is_too_small(tmp_path: Path) -> None:
    """How many would have to go, where fewer may."""
    limits = Settings(queueing=Queueing(max_preempted_workloads=1))
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "2", "one", "two")
        await hub.settle()
        await start(hub, *low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        found = await remedies(hub, high)
        assert found["Budget"].startswith("it would have to preempt 2 workloads: ")


async def test_it_says_from_when_on_it_may_preempt(tmp_path: Path) -> None:
    """Those who have not run for the minimum time are spared until then."""
    limits = Settings(queueing=Queueing(minimum_runtime_s=600.0))
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        found = await remedies(hub, high)
        assert found["MinimumRuntime"].startswith("from 2026-01-01T00:10:0")
        assert "it may preempt team-a/low" in found["MinimumRuntime"]


async def test_it_may_preempt_once_the_last_of_them_has_run_for_long_enough(
    tmp_path: Path,
) -> None:
    """Where several would have to go, the one that started last says from when on."""
    limits = Settings(queueing=Queueing(minimum_runtime_s=600.0))
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        for name in ("early", "late"):
            low = await submit(hub, "a", "2", name)
            await hub.settle()
            await start(hub, *low)
            hub.clock.advance(10)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        found = await remedies(hub, high)
        assert found["MinimumRuntime"].startswith("from 2026-01-01T00:10:1")


async def test_it_says_that_a_cordon_or_an_annotation_keeps_it_out(tmp_path: Path) -> None:
    """A cordoned cluster that would hold it, and constraints of its own."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.cluster("d", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        named = {"roadstead.dev/clusters": "elsewhere"}
        (waits,) = await hub.apply(a_job("named", queue="a", annotations=named))
        await hub.settle()
        assert "Constraints" in await remedies(hub, waits)


async def test_every_flavor_and_cluster_is_told_of(tmp_path: Path) -> None:
    """What it could get of each flavor alone, and which clusters have room, quota aside."""
    async with running(tmp_path) as hub:
        await hub.cluster("big", a_pool(nodes=1, cpu="16"))
        await hub.cluster("small", a_pool(nodes=1, cpu="1"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        await submit(hub, "a", "4", "one")
        (waits,) = await submit(hub, "a", "4", "two")
        await hub.settle()
        found = await told(hub, waits)
        assert [(f["flavor"], f["outcome"]) for f in found["flavors"]] == [
            ("any", "WaitingForQuota")
        ]
        assert {c["cluster"]: c["fits"] for c in found["fleet"]} == {"big": True, "small": False}


async def test_one_that_can_not_be_considered_says_what_rule_to_change(tmp_path: Path) -> None:
    """A queue that does not exist has to be made."""
    async with running(tmp_path) as hub:
        (waits,) = await hub.apply(a_job("lost", queue="nowhere"))
        await hub.settle()
        assert await remedies(hub, waits) == {
            "Rule": "create the LocalQueue that it names, or its ClusterQueue"
        }


async def test_a_resource_that_no_flavor_covers_has_a_remedy(tmp_path: Path) -> None:
    """NoMatchingFlavor is not left without a way: cover what is asked for, or ask for less."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.apply(*a_queue("gold"))
        requests = {"cpu": "1", "example.com/fpga": "1"}
        (uid,) = await hub.apply(a_job("one", queue="gold", requests=requests))
        await hub.settle()
        assert (await told(hub, uid))["reason"] == "NoMatchingFlavor"
        found = await remedies(hub, uid)
        assert found.keys() == {"Rule"}
        assert "flavor that covers" in found["Rule"]


async def test_one_that_a_drain_gave_back_tells_at_once_how_its_queue_goes_on(
    tmp_path: Path,
) -> None:
    """It tells why it waits now, before the scheduler has read its row: no longer why it was evicted."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.apply(*a_queue("gold"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        await hub.apply(*a_queue("gold", spec={"stopPolicy": "HoldAndDrain"}))
        await hub.follow()
        index = hub.scheduler.index
        leaving, grounds = drained(index.routes, index.holders), Grounds.of(index, Profile())
        await hub.hub.write(preempt.drain, leaving, 1, grounds)
        assert (await hub.job(uid)).reason == "ClusterQueueStopped"
        found = await told(hub, uid)
        assert (found["state"], found["reason"]) == ("Pending", "QueueStopped")
        assert found["message"] == "ClusterQueue gold is stopped (HoldAndDrain)"
        assert found["remedies"][0]["message"].endswith("roadstead queues resume gold")


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("ClusterQueue", "kubectl patch clusterqueue gold"),
        ("LocalQueue", "kubectl patch localqueue gold -n team-a"),
    ],
)
async def test_a_queue_of_the_hub_cluster_is_resumed_there(
    tmp_path: Path, kind: str, typed: str
) -> None:
    """The command is the one that works: of a queue that came from the hub cluster, kubectl's."""
    async with running(tmp_path) as hub:
        flavor, queue, door = in_cohort("gold", "4", cohort="")
        (queue if kind == "ClusterQueue" else door)["spec"]["stopPolicy"] = "Hold"
        drafts = [
            draft(parse(each), hub.clock.now(), origin=Origin.HUB_CLUSTER, uid=each["kind"])
            for each in (queue, door)
        ]
        await hub.apply(flavor)
        await hub.hub.write(apply_documents, drafts, hub.hub.settings.intake)
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        (way,) = (await told(hub, uid))["remedies"]
        change = """ --type merge -p '{"spec": {"stopPolicy": "None"}}'"""
        assert way["message"].endswith(f": {typed}{change}")


async def test_one_that_the_scheduler_has_yet_to_read_lacks_no_queue(tmp_path: Path) -> None:
    """Before the index is read it knows no queue: the explanation does not say that there is none."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("gold"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        found = await told(hub, uid)
        assert (found["state"], found["reason"]) == ("Pending", "")
        assert found["message"] == "has not been considered yet"

"""Cohorts on a live hub: borrowing, lending, limits, and what is taken back."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store.transaction import Transaction
from shared.kinds.registry import parse
from tests.services.build import a_cohort, in_cohort, states, submit
from tests.services.hubs import KUEUE, Running, a_pool, running

pytestmark = pytest.mark.anyio


async def test_a_queue_borrows_what_others_in_its_cohort_do_not_use(tmp_path: Path) -> None:
    """An implicit cohort of two queues: one may use the nominal quota of both."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(*in_cohort("a", "4"), *in_cohort("b", "4"))
        uids = await submit(hub, "a", "2", "one", "two", "three", "four", "five")
        await hub.settle()
        assert await states(hub, uids) == ["Placed"] * 4 + ["Pending"]
        assert (await hub.job(uids[4])).reason == "WaitingForQuota"


async def test_borrowing_and_lending_limits_hold(tmp_path: Path) -> None:
    """At most borrowingLimit beyond the nominal quota, and never what others keep back."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(
            *in_cohort("a", "4", borrow="2"),
            *in_cohort("b", "4"),
            *in_cohort("d", "4", cohort="other"),
            *in_cohort("e", "4", cohort="other", lend="1"),
        )
        limited = await submit(hub, "a", "1", *(f"a{n}" for n in range(8)))
        lent = await submit(hub, "d", "1", *(f"d{n}" for n in range(8)))
        await hub.settle()
        assert (await states(hub, limited)).count("Placed") == 6
        assert (await states(hub, lent)).count("Placed") == 5


async def test_a_cohort_lends_its_own_quota_down_the_tree(tmp_path: Path) -> None:
    """Quota of a cohort serves every queue below it; it may be declared after the queues."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(*in_cohort("a", "1", cohort="left"))
        uids = await submit(hub, "a", "1", "one", "two", "three")
        await hub.settle()
        assert await states(hub, uids) == ["Placed", "Pending", "Pending"]
        await hub.apply(a_cohort("root", cpu="1"), a_cohort("left", parent="root"))
        await hub.settle()
        assert await states(hub, uids) == ["Placed", "Placed", "Pending"]


async def test_what_one_queue_releases_serves_another(tmp_path: Path) -> None:
    """A workload that ends in one queue wakes those that wait anywhere in its tree."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(*in_cohort("a", "2"), *in_cohort("b", "2"))
        (big,) = await submit(hub, "a", "4", "big")
        await hub.settle()
        (waits,) = await submit(hub, "b", "2", "waits")
        await hub.settle()
        assert await states(hub, [big, waits]) == ["Placed", "Pending"]
        for move in ("offer", "apply", "start", "succeed"):
            await hub.transition(move, big)
        await hub.settle()
        assert await states(hub, [waits]) == ["Placed"]


async def test_a_cycle_of_cohorts_stops_its_queues_and_names_the_path(tmp_path: Path) -> None:
    """Nothing is admitted until the cycle is gone: the hub cluster may hold one, REST refuses it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort="left"))
        await mirrored(hub, a_cohort("left", parent="right"), a_cohort("right", parent="left"))
        uids = await submit(hub, "a", "1", "one")
        await hub.settle()
        row = await hub.job(uids[0])
        assert (row.state, row.reason) == ("Pending", "Misconfigured")
        assert "left -> right -> left" in row.message
        await mirrored(hub, a_cohort("right"))
        await hub.settle()
        assert await states(hub, uids) == ["Placed"]


async def mirrored(hub: Running, *manifests: dict[str, Any]) -> None:
    """Manifests as the hub cluster holds them."""

    def run(tx: Transaction) -> None:
        drafts = [draft(parse(m), tx.now, origin=Origin.HUB_CLUSTER) for m in manifests]
        applied = apply_documents(tx, drafts, hub.hub.settings.intake)
        assert all(a.error is None for a in applied), applied

    await hub.hub.db.write(run)


async def test_a_strict_head_keeps_its_quota_from_borrowers(tmp_path: Path) -> None:
    """StrictFIFO: what its head waits for is not lent while it waits, cycle after cycle (2.1 5c)."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        reclaims = {"reclaimWithinCohort": "LowerPriority"}
        await hub.apply(*in_cohort("a", "4", strict=True, preemption=reclaims))
        await hub.apply(*in_cohort("b", "0"))
        (first,) = await submit(hub, "a", "2", "first")
        await hub.settle()
        (head,) = await submit(hub, "a", "4", "head")
        await hub.settle()
        (borrower,) = await submit(hub, "b", "2", "borrower")
        await hub.settle()
        assert await states(hub, [first, head, borrower]) == ["Placed", "Pending", "Pending"]


async def test_a_flavor_is_passed_over_for_one_that_needs_no_borrowing(tmp_path: Path) -> None:
    """whenCanBorrow TryNextFlavor: the second flavor without borrowing beats the first with it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        queue = in_cohort("a", "1")
        spec = queue[1]["spec"]
        second = {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
        spec["resourceGroups"][0]["flavors"].append(second)
        spec["flavorFungibility"] = {"whenCanBorrow": "TryNextFlavor"}
        flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "spot"}}
        await hub.apply(flavor, *queue, *in_cohort("b", "8"))
        (uid,) = await submit(hub, "a", "2", "one")
        await hub.settle()
        assert (await hub.job(uid)).admission["podSets"][0]["flavors"] == {"cpu": "spot"}


async def test_what_is_short_says_whose_room_it_counts(tmp_path: Path) -> None:
    """In a cohort the numbers are the cohort's, in a queue by itself its own."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(
            *in_cohort("a", "4"), *in_cohort("b", "4"), *in_cohort("d", "4", cohort="")
        )
        shared = await submit(hub, "a", "6", "one", "two")
        own = await submit(hub, "d", "3", "three", "four")
        await hub.settle()
        assert "6 of 8 used in cohort all, 4 more needed" in (await hub.job(shared[1])).message
        assert "3 of 4 used, 2 more needed" in (await hub.job(own[1])).message

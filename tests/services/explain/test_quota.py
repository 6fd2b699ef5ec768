"""Explain says what a queue has, what it borrows, and what preemption could do and may not."""

from pathlib import Path

import pytest

from hub.domain.access import Area, Scope
from hub.services.context.hub import HubWithin
from hub.services.explain import study
from tests.services.build import RECLAIM, WITHIN, in_cohort, start, submit, urgent
from tests.services.hubs import a_job, a_pool, running

pytestmark = pytest.mark.anyio


async def test_it_shows_borrowing_and_why_nobody_may_be_preempted(tmp_path: Path) -> None:
    """Numbers of the queue, and for each holder of what is short the rule that spares it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "2", preemption=WITHIN), *in_cohort("b", "2"))
        await submit(hub, "a", "3", "one")
        await submit(hub, "b", "1", "two")
        (waits,) = await submit(hub, "a", "1", "three")
        await hub.settle()
        told = await hub.explain(waits)
        (quota,) = told["quota"]
        assert (quota["nominal"], quota["used"], quota["borrowed"]) == ("2", "3", "1")
        assert (quota["available"], quota["potential"]) == ("0", "4")
        assert told["preemption"]["candidates"] == []
        spared = {
            s["reason"]: [e["name"] for e in s["examples"]] for s in told["preemption"]["spared"]
        }
        assert spared == {
            "reclaimWithinCohort of a is Never": ["two"],
            "withinClusterQueue is LowerPriority: its priority is not below 0": ["one"],
        }


async def test_it_names_whom_it_waits_for(tmp_path: Path) -> None:
    """A nominee says which cluster is kept for it and how many have to go."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=RECLAIM))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        told = await hub.explain(high)
        assert told["reason"] == "WaitingForPreemptedWorkloads"
        assert (told["nomination"]["cluster"], told["nomination"]["victims"]) == ("c", [low])


async def test_the_sentence_has_the_figures_of_the_table(tmp_path: Path) -> None:
    """A job that came later took what was left: sentence, fields and table say so alike."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort=""))
        await submit(hub, "a", "8", "one")
        await hub.settle()
        (two,) = await submit(hub, "a", "4", "two")
        await hub.settle()
        assert "8 of 10 used, 2 more needed" in (await hub.explain(two))["message"]
        await submit(hub, "a", "2", "three")
        await hub.settle()
        told = await hub.explain(two)
        assert told["message"].endswith("cpu of flavor any: 4 asked, 10 of 10 used, 4 more needed")
        assert told["waiting"]["message"] == told["message"]
        (short,), (quota,) = told["waiting"]["quota"], told["quota"]
        assert (short["used"], short["limit"], short["missing"]) == ("10", "10", "4")
        assert (quota["used"], quota["nominal"], quota["available"]) == ("10", "10", "0")


async def test_figures_of_a_cohort_are_those_of_now(tmp_path: Path) -> None:
    """What the queue could have of its cohort, and how much of that others have taken since."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "4"), *in_cohort("b", "4"))
        await submit(hub, "a", "7", "one")
        await hub.settle()
        (more,) = await submit(hub, "a", "3", "more")
        await hub.settle()
        assert "7 of 8 used in cohort all" in (await hub.explain(more))["message"]
        await submit(hub, "b", "1", "two")
        await hub.settle()
        told = (await hub.explain(more))["message"]
        assert "3 asked, 8 of 8 used in cohort all, 3 more needed" in told


async def test_quota_that_is_free_again_is_not_called_missing(tmp_path: Path) -> None:
    """Between an end and the next cycle the sentence says that it is enough by now."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort=""))
        (one,) = await submit(hub, "a", "8", "one")
        (two,) = await submit(hub, "a", "4", "two")
        await hub.settle()
        await start(hub, one)
        await hub.transition("succeed", one)
        await hub.follow()
        told = await hub.explain(two)
        assert "4 asked, 0 of 10 used, which is enough by now" in told["message"]
        assert told["waiting"]["quota"][0]["missing"] == "0"


async def test_what_is_said_of_a_nominee_is_dated(tmp_path: Path) -> None:
    """The sentence of one that waits for its victims has the figures of when they were told to go."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=RECLAIM))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "3")
        at = hub.clock.now()
        await hub.settle()
        told = (await hub.explain(high))["message"]
        assert told == f"{(await hub.job(high)).message} (as of {at:%Y-%m-%d %H:%M} UTC)"


async def test_of_jobs_that_may_not_be_seen_no_uid_is_told(tmp_path: Path) -> None:
    """Neither of victims, which are counted, nor of who stands before it in line."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", preemption=RECLAIM), *in_cohort("b", "0"))
        await hub.apply(*in_cohort("strict", "1", cohort="", strict=True))
        door = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
        place = {"name": "side", "namespace": "team-a"}
        await hub.apply({**door, "metadata": place, "spec": {"clusterQueue": "strict"}})
        (low,) = await submit(hub, "b", "4", "low")
        (head,) = await submit(hub, "strict", "3", "head")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        (behind,) = await submit(hub, "side", "1", "behind")
        await hub.settle()
        mine = (Area(queues=frozenset({"a", "side"})),)
        me = HubWithin(hub.hub, Scope(mine, mine))
        for seen, victims, first in ((hub.hub, [low], head), (me, [""], "")):
            told = await study.explain(seen, high, lambda: hub.scheduler.index)
            assert told["nomination"]["victims"] == victims
            told = await study.explain(seen, behind, lambda: hub.scheduler.index)
            assert told["waiting"]["head"] == first
            assert ("team-a/head" in told["message"]) is bool(first)


async def test_what_is_used_beyond_the_quota_counts_as_missing(tmp_path: Path) -> None:
    """Of a cohort whose quota was lowered below its use: figures and remedy name the same amount."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10"), *in_cohort("b", "4"))
        await submit(hub, "a", "12", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "3", "two")
        await hub.apply(*in_cohort("a", "6"))
        await hub.settle()
        told = await hub.explain(waits)
        assert "3 asked, 12 of 10 used in cohort all, 5 more needed" in told["message"]
        whole = await study.explain(hub.hub, waits, lambda: hub.scheduler.index)
        (quota,) = [r for r in whole["remedies"] if r["kind"] == "Quota"]
        assert quota["amounts"] == [{"flavor": "any", "resource": "cpu", "amount": "5"}]


async def test_a_borrowing_limit_that_stops_a_queue_is_named(tmp_path: Path) -> None:
    """The cohort has more; what the queue may have of it is used up."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "4", borrow="2"), *in_cohort("b", "20"))
        await submit(hub, "a", "6", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "1", "two")
        await hub.settle()
        said = (await hub.explain(waits))["message"]
        assert (
            "6 of 6 used, which is nominalQuota and borrowingLimit together, 1 more needed" in said
        )


async def test_a_request_above_nominal_says_that_it_preempts_nobody(tmp_path: Path) -> None:
    """borrowWithinCohort Never: who asks for more than nominalQuota has to wait for others to end."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "4", preemption=RECLAIM), *in_cohort("b", "4"))
        await submit(hub, "b", "6", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "6", "two")
        await hub.settle()
        said = (await hub.explain(waits))["message"]
        assert said.endswith(
            "4 more needed; more cpu than nominalQuota is asked, and with "
            "borrowWithinCohort.policy: Never such a request preempts nobody"
        )


async def test_rows_of_one_queue_have_the_figures_of_now(tmp_path: Path) -> None:
    """Classes refused one after the other, then a lower quota and another job: the lists say one number."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "14", cohort=""))
        await submit(hub, "a", "10", "one")
        await hub.settle()
        (first,) = await submit(hub, "a", "6", "two")
        await hub.settle()
        await submit(hub, "a", "2", "three")
        await hub.settle()
        (second,) = await submit(hub, "a", "5", "four")
        await hub.settle()
        hub.clock.advance(11)
        await hub.settle()
        said = [(await hub.job(uid)).message for uid in (first, second)]
        assert ["12 of 14 used" in each for each in said] == [True, True]


async def test_a_job_short_of_quota_that_no_member_could_hold_says_both(tmp_path: Path) -> None:
    """Quota alone would not start it: that the cluster that it names does not exist comes first."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort=""))
        await submit(hub, "a", "8", "one")
        named = a_job("two", queue="a", requests={"cpu": "8"})
        named["metadata"]["annotations"] = {"roadstead.dev/clusters": "nosuch"}
        (waits,) = await hub.apply(named)
        await hub.settle()
        told = await study.explain(hub.hub, waits, lambda: hub.scheduler.index)
        assert told["reason"] == (await hub.job(waits)).reason == "NoClusterMatches"
        first, _, more = told["message"].partition("; in addition, ")
        assert first.startswith("no member could ever hold it: none of 1 clusters may take it")
        assert first.endswith("names nosuch, and the fleet has no such cluster")
        assert "insufficient unused quota: cpu of flavor any: 8 asked, 8 of 10 used" in more
        assert told["waiting"]["quota"][0]["missing"] == "6"


async def test_more_than_there_can_be_is_told_in_one_way(tmp_path: Path) -> None:
    """Sentence and fields agree on what is needed, whatever others use now."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        await submit(hub, "a", "3", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "9", "big")
        await hub.settle()
        told = await study.explain(hub.hub, waits, lambda: hub.scheduler.index)
        assert told["reason"] == "ExceedsMaxQuota"
        (short,) = told["waiting"]["quota"]
        assert short["message"] == "cpu of flavor any: 9 asked, at most 4, 5 more needed"
        assert short["message"] in told["message"]
        assert short["missing"] == "5"


async def test_a_job_too_large_for_any_node_says_so_before_its_quota(tmp_path: Path) -> None:
    """Its reason names the decisive cause, in its row too; the remedy has the node and the quota."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="8"))
        await hub.apply(*in_cohort("a", "12", cohort=""))
        await submit(hub, "a", "4", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "10", "wide")
        await hub.settle()
        row = await hub.job(waits)
        assert row.reason == "NoClusterFits"
        assert row.message.startswith(
            "no member could ever hold it: no node of any member is large enough for one pod of "
            "main (cpu 10); nearest miss: cluster c misses 2 cpu on one node; in addition, "
        )
        told = await study.explain(hub.hub, waits, lambda: hub.scheduler.index)
        assert (told["reason"], told["message"]) == (row.reason, row.message)
        assert told["remedies"][0]["message"] == (
            "fits with a node with 10 cpu free on cluster c and 2 cpu of flavor any more as "
            "nominalQuota of ClusterQueue a"
        )


async def test_the_remedy_of_a_job_too_large_for_any_node_works(tmp_path: Path) -> None:
    """A cluster with such a node wakes it: then quota is what it lacks, and with that it is placed."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="8"))
        await hub.apply(*in_cohort("a", "12", cohort=""))
        await submit(hub, "a", "4", "one")
        await hub.settle()
        (waits,) = await submit(hub, "a", "10", "wide")
        await hub.settle()
        await hub.cluster("large", a_pool(nodes=1, cpu="10"))
        await hub.settle()
        assert (await hub.job(waits)).reason == "WaitingForQuota"
        await hub.apply(*in_cohort("a", "14", cohort=""))
        await hub.settle()
        assert (await hub.job(waits)).cluster == "large"

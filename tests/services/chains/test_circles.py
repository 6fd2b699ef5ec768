"""Chains that close through names: no circle, by whatever way, and nothing learnt of what is hidden."""

from dataclasses import replace

import pytest

from hub.domain.access import EVERYTHING, Area, Scope
from hub.domain.workloads.states import WithdrawTo
from hub.services.chains import bind
from hub.services.jobs import cancel
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.works.withdraw import withdraw_jobs
from hub.store import dependencies, retention as stored
from shared.kinds.registry import parse
from tests.services.chains.chained import a_chained, chained
from tests.services.hubs import a_queue

pytestmark = pytest.mark.anyio
CYCLE = "DependencyCycle"


async def applied(it, sees=EVERYTHING, **after):
    """Jobs applied in one transaction: name=annotation; by name the uid, or the refusal's code."""

    def run(tx):
        given = [
            replace(draft(parse(a_chained(name, text)), tx.now), sees=sees)
            for name, text in after.items()
        ]
        told = apply_documents(tx, given, it.hub.hub.settings.intake)
        return {
            one.name: each.error.code if each.error else each.uid
            for one, each in zip(given, told, strict=True)
        }

    return await it.hub.hub.write(run)


async def test_a_circle_through_a_stored_job_and_several_new_ones_is_refused(tmp_path):
    """One that is stored waits for a name; who brings it waits for it by way of another new one."""
    async with chained(tmp_path) as it:
        stored = (await applied(it, first="second"))["first"]
        assert await applied(it, second="third", third="first") == {
            "second": CYCLE,
            "third": CYCLE,
        }
        again = await applied(it, second="third", third="")
        await it.turn()
        assert await it.stands(stored) == ("Held", "WaitsForJobs")
        await it.hub.hub.write(cancel.cancel_job, again["third"], "ann")
        await it.turn()
        assert await it.stands(again["second"]) == ("Held", "DependencyNeverSatisfied")


async def test_a_circle_through_two_names_at_once_is_refused(tmp_path):
    """Two that are stored wait for two names, which come together, each waiting for the other's."""
    async with chained(tmp_path) as it:
        await applied(it, a="p", b="q")
        assert await applied(it, p="b", q="a") == {"p": CYCLE, "q": CYCLE}


async def test_who_waits_for_one_that_is_refused_waits_for_its_name(tmp_path):
    """In whatever order they stand: the refused one was never there."""
    async with chained(tmp_path) as it:
        await applied(it, first="last")
        made = await applied(it, one="last", last="first", two="last")
        assert made["last"] == CYCLE
        await it.turn()
        for name in ("one", "two"):
            assert await it.stands(made[name]) == ("Held", "WaitsForJobs")


async def test_a_long_chain_is_walked_by_one_query_and_within_bounds(tmp_path, monkeypatch):
    """However deep it is; beyond so many links who brings a name that is waited for is refused."""
    async with chained(tmp_path) as it:
        await applied(it, waiting="last")
        await it.submit(j0="", **{f"j{n}": f"j{n - 1}" for n in range(1, 40)})
        uid = (await it.submit(end="j39"))["end"]
        walked = await it.hub.hub.read(dependencies.chains_of, [uid], 100)
        assert [each.on_name for each in walked] == [f"j{n}" for n in range(39, -1, -1)]
        monkeypatch.setattr(bind, "MOST_WALKED", 20)
        assert await applied(it, last="end") == {"last": CYCLE}
        monkeypatch.setattr(bind, "MOST_WALKED", 40)
        assert (await applied(it, last="end"))["last"] != CYCLE


async def test_who_sees_part_of_a_namespace_waits_for_no_hidden_name(tmp_path):
    """Applied as submitted: neither one that is there, nor one that comes later, is waited for."""
    async with chained(tmp_path) as it:
        await it.submit(theirs="")
        mine = Scope(sees=(Area(queues=frozenset({"other"})), Area(owner="ann")))
        unknown = {"mine": "UnknownDependency"}
        assert await applied(it, mine, mine="theirs") == unknown
        assert await applied(it, mine, mine="later") == unknown
        whole = Scope(sees=(Area(namespaces=frozenset({"team-a"})),))
        assert (await applied(it, whole, mine="later"))["mine"] != "UnknownDependency"


@pytest.mark.parametrize("gone", ["deleted", "outlived"])
async def test_one_that_is_deactivated_has_ended_once_its_name_is_free(tmp_path, gone):
    """Nobody can release it any more: who waits for it is told, and does not wait for ever."""
    async with chained(tmp_path) as it:
        made = await it.submit(first="", wants="first", takes="first:any")
        await it.hub.hub.write(withdraw_jobs, [made["first"]], WithdrawTo.DEACTIVATED)
        await it.turn()
        assert await it.stands(made["takes"]) == ("Held", "WaitsForJobs")
        if gone == "deleted":
            await it.hub.hub.write(cancel.delete_job, made["first"], "ann")
        else:
            await it.hub.hub.write(stored.give_names_back, [made["first"]])
        await it.turn()
        assert await it.stands(made["takes"]) == ("Pending", "")
        row = await it.hub.job(made["wants"])
        assert row.reason == "DependencyNeverSatisfied"
        assert "first was to succeed and was deactivated" in row.message


async def test_a_job_that_moves_to_another_queue_waits_on(tmp_path):
    """An edit of its queue changes nothing of why it is held: it goes when the other has ended."""
    async with chained(tmp_path) as it:
        await it.hub.apply(*a_queue("r"))
        made = await it.submit(first="", second="first:any")

        def move(tx):
            job = a_chained("second", "first:any")
            job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "r"
            given = draft(parse(job), tx.now)
            return apply_documents(tx, [given], it.hub.hub.settings.intake)

        (told,) = await it.hub.hub.write(move)
        assert told.error is None
        assert (await it.hub.job(made["second"])).queue == "r"
        assert await it.stands(made["second"]) == ("Held", "WaitsForJobs")
        await it.hub.hub.write(cancel.cancel_job, made["first"], "ann")
        await it.turn()
        assert await it.stands(made["second"]) == ("Pending", "")

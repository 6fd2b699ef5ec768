"""Jobs that wait for other jobs: bound when they are accepted, let go once those have ended."""

import pytest

from hub.controllers.chains import Chains
from hub.domain.access import Area, Scope
from hub.domain.workloads.states import Transition
from hub.services.chains import bind, settle
from hub.services.context.hub import HubWithin
from hub.services.jobs import cancel, hold, retention
from hub.services.questions import jobs
from hub.services.works import restored
from hub.store import dependencies, events, workloads
from hub.store.records.workloads import WorkloadChange, move_of
from tests.services.chains.chained import chained

pytestmark = pytest.mark.anyio


async def test_a_job_waits_and_goes_when_what_it_waits_for_succeeds(tmp_path):
    """Held with the reason's words, in no queue; then Pending, in its queue from that moment on."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="", train="prepare")
        await it.turn()
        row = await it.hub.job(made["train"])
        assert (row.state, row.reason) == ("Held", "WaitsForJobs")
        assert row.message == "waits for prepare to succeed"
        it.hub.clock.advance(60)
        await it.ends(Transition.SUCCEED, made["prepare"])
        row = await it.hub.job(made["train"])
        assert (row.state, row.reason) == ("Pending", "")
        assert row.queued_at == it.hub.clock.now()
        told = await it.hub.hub.read(jobs.job_events, made["train"], 9)
        assert [(each["reason"], each["message"]) for each in told["items"][-2:]] == [
            ("WaitsForJobs", "waits for prepare to succeed"),
            ("Released", "its dependencies have ended: prepare succeeded"),
        ]


@pytest.mark.parametrize(
    ("wanted", "how", "stands"),
    [
        ("ok", Transition.FAIL, ("Held", "DependencyNeverSatisfied")),
        ("fail", Transition.SUCCEED, ("Held", "DependencyNeverSatisfied")),
        ("fail", Transition.FAIL, ("Pending", "")),
        ("any", Transition.FAIL, ("Pending", "")),
    ],
)
async def test_a_condition_that_can_not_hold_any_more_keeps_the_job(tmp_path, wanted, how, stands):
    """It stays held and says so; a person may release it all the same, which is written down."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="", train=f"prepare:{wanted}")
        await it.ends(how, made["prepare"])
        assert await it.stands(made["train"]) == stands
        if stands[0] == "Held":
            await it.hub.hub.write(hold.release_job, made["train"], "ann")
            await it.turn()
            assert await it.stands(made["train"]) == ("Pending", "")
            shown = await it.hub.hub.read(jobs.get_job, made["train"])
            assert [each["state"] for each in shown["after"]] == ["Waived"]


async def test_all_must_have_ended(tmp_path):
    """Of several the last one counts, and one cancelled or deleted counts as ended without success."""
    async with chained(tmp_path) as it:
        made = await it.submit(a="", b="", c="", last="a:ok, b:any, c:any")
        await it.ends(Transition.SUCCEED, made["a"])
        await it.hub.hub.write(cancel.cancel_job, made["b"], "ann")
        await it.turn()
        row = await it.hub.job(made["last"])
        assert (row.reason, row.message) == ("WaitsForJobs", "waits for c to end")
        await it.hub.hub.write(cancel.delete_job, made["c"], "ann")
        await it.turn()
        assert await it.stands(made["last"]) == ("Pending", "")


async def test_what_has_ended_already_is_not_waited_for(tmp_path):
    """Decided in the transaction that accepts the job."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="")
        await it.ends(Transition.SUCCEED, made["prepare"])
        later = await it.submit(train="prepare", clean="prepare:fail")
        assert await it.stands(later["train"]) == ("Pending", "")
        assert await it.stands(later["clean"]) == ("Held", "DependencyNeverSatisfied")


async def test_a_job_is_bound_to_who_had_the_name(tmp_path):
    """Another job that gets the name later is another one."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="", train="prepare")
        await it.hub.hub.write(cancel.delete_job, made["prepare"], "ann")
        again = await it.submit(prepare="")
        await it.ends(Transition.SUCCEED, again["prepare"])
        assert await it.stands(made["train"]) == ("Held", "DependencyNeverSatisfied")


async def test_cycles_and_unknown_names_are_refused(tmp_path):
    """In a batch too, in any order; who waits for one that is refused is refused with it."""
    async with chained(tmp_path) as it:
        told = await it.submit(a="b", b="c", c="a", d="c", e="e", f="g", g="", h="nobody", i="h")
        uid = told.pop("f"), told.pop("g")
        assert not {code for code in uid if code in set(told.values())}
        assert {name for name, code in told.items() if code == "DependencyCycle"} == set("abce")
        assert {name for name, code in told.items() if code == "UnknownDependency"} == set("dhi")
        assert await it.stands(uid[0]) == ("Held", "WaitsForJobs")


async def test_a_job_that_may_not_be_seen_is_unknown(tmp_path):
    """What another tenant has in the namespace is not there for who submits."""
    async with chained(tmp_path) as it:
        await it.submit(theirs="")
        mine = Scope(sees=(Area(queues=frozenset({"other"})),))
        code = await it.hub.hub.write(it.submitted, {"mine": "theirs"}, sees=mine)
        assert code == {"mine": "UnknownDependency"}


async def test_applied_jobs_wait_for_a_name_for_a_while(tmp_path):
    """kubectl's order is not known: who comes under the name is waited for; nobody came: never."""
    async with chained(tmp_path) as it:
        train, lost = await it.apply("train", "prepare"), await it.apply("lost", "nobody")
        await it.turn()
        assert await it.stands(train) == ("Held", "WaitsForJobs")
        prepare = await it.apply("prepare")
        await it.turn()
        shown = await it.hub.hub.read(jobs.get_job, train)
        assert [each["uid"] for each in shown["after"]] == [prepare]
        it.hub.clock.advance(bind.PATIENCE.total_seconds() + 1)
        await it.turn()
        row = await it.hub.job(lost)
        assert row.reason == "DependencyNeverSatisfied"
        assert "nobody was to" in row.message
        await it.ends(Transition.SUCCEED, prepare)
        assert await it.stands(train) == ("Pending", "")


async def test_a_hub_whose_clock_is_ahead_gives_up_no_name(tmp_path):
    """Each leader counts by itself how long it has waited: no clock that was set ahead counts."""
    async with chained(tmp_path) as it:
        lost = await it.apply("lost", "nobody")
        it.hub.clock.advance(3600)  # the hub was down, or its clock was set
        it.restart()
        await it.turn()
        assert await it.stands(lost) == ("Held", "WaitsForJobs")
        it.hub.clock.advance(bind.PATIENCE.total_seconds() + 1)
        await it.turn()
        assert await it.stands(lost) == ("Held", "DependencyNeverSatisfied")


async def test_a_name_that_comes_closes_no_circle(tmp_path):
    """The last one that would make jobs wait for themselves is refused, over however many."""
    async with chained(tmp_path) as it:
        await it.apply("a", "c")
        await it.apply("b", "a")
        assert await it.apply("c", "b") == "DependencyCycle"


async def test_an_edit_of_the_annotation_is_refused(tmp_path):
    """Whom a job waits for is decided when it is accepted: no edit makes a cycle."""
    async with chained(tmp_path) as it:
        await it.apply("prepare")
        await it.apply("train", "prepare")
        assert await it.apply("prepare", "train") == "Immutable"
        assert await it.apply("train") == "Immutable"


async def test_a_persons_hold_outlasts_the_jobs_that_are_waited_for(tmp_path):
    """Held by its user it stays; released too early it waits for them again."""
    async with chained(tmp_path) as it:
        made = await it.submit(a="", b="", one="a", two="b")
        for name in ("one", "two"):
            await it.hub.hub.write(hold.hold_job, made[name], "ann")
        await it.ends(Transition.SUCCEED, made["a"])
        assert await it.stands(made["one"]) == ("Held", "HeldByUser")
        for name in ("one", "two"):
            await it.hub.hub.write(hold.release_job, made[name], "ann")
        assert await it.stands(made["one"]) == ("Pending", "")
        assert await it.stands(made["two"]) == ("Held", "WaitsForJobs")


async def test_a_restored_store_lets_nothing_go_by_itself(tmp_path):
    """What waited may have gone in the lost time: only a person releases it."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="", train="prepare")
        await it.hub.hub.write(restored.hold_everything)
        await it.hub.hub.write(hold.release_job, made["prepare"], "ann")
        row = await it.hub.job(made["prepare"])
        await it.hub.hub.write(
            lambda tx: workloads.transition(
                tx, Transition.CONCLUDE, [move_of(row.uid, row.epoch, {})]
            )
        )
        await it.turn()
        assert await it.stands(made["train"]) == ("Held", "Restored")
        await it.hub.hub.write(hold.release_job, made["train"], "ann")
        assert await it.stands(made["train"]) == ("Pending", "")


async def test_many_dependents_go_a_bounded_number_at_a_time(tmp_path):
    """No transaction decides more than MOST of them, and a new leader goes on where one stopped."""
    async with chained(tmp_path) as it:
        many = {f"j{i}": "first" for i in range(settle.MOST + 20)}
        made = await it.submit(first="", **many)
        await it.turn()
        await it.hub.hub.write(cancel.cancel_job, made["first"], "ann")
        told = await it.hub.hub.write(settle.settle, [made["first"]], 1)
        assert told == (settle.MOST, True)
        it.controller = Chains(it.hub.hub, lambda: 1)  # another process, that heard nothing
        await it.turn()
        rows = await it.hub.jobs([made[name] for name in many])
        assert {row.reason for row in rows} == {"DependencyNeverSatisfied"}
        assert await it.hub.hub.read(dependencies.awaited) == frozenset()


async def test_how_a_job_ended_is_kept_while_somebody_waits_to_be_told(tmp_path):
    """Retention takes no job of which an undecided dependency asks; decided, it goes."""
    async with chained(tmp_path) as it:
        made = await it.submit(first="", second="first:any")
        await it.hub.hub.write(cancel.cancel_job, made["first"], "ann")
        settings = it.hub.hub.settings
        it.hub.clock.advance(settings.retention.finished_jobs.total_seconds() + 60)
        assert await it.hub.hub.write(retention.remove_jobs, settings) == 0
        await it.turn()
        assert await it.hub.hub.write(retention.remove_jobs, settings) == 1
        assert await it.stands(made["second"]) == ("Pending", "")


async def test_both_ends_of_a_chain_are_shown(tmp_path):
    """Whom a job waits for with how that stands, and who waits for it."""
    async with chained(tmp_path) as it:
        made = await it.submit(prepare="", train="prepare")
        (one,) = (await it.hub.hub.read(jobs.get_job, made["train"]))["after"]
        assert {k: one[k] for k in ("name", "uid", "condition", "state", "jobState")} == {
            "name": "prepare", "uid": made["prepare"], "condition": "ok", "state": "Waiting",
            "jobState": "Pending",
        }  # fmt: skip
        (other,) = (await it.hub.hub.read(jobs.get_job, made["prepare"]))["before"]
        assert (other["name"], other["jobReason"]) == ("train", "WaitsForJobs")
        told = await it.hub.explain(made["train"])
        assert "waits for prepare to succeed: prepare is Pending since" in told["message"]


async def test_of_a_neighbour_that_may_not_be_seen_its_name_is_all_there_is(tmp_path):
    """The view hides its cluster, state and times."""
    async with chained(tmp_path) as it:
        made = await it.submit(theirs="", mine="theirs")
        there: WorkloadChange = {"uid": made["theirs"], "queue": "other", "cluster": "north"}
        await it.hub.hub.write(lambda tx: workloads.change(tx, [there]))
        mine = Scope(sees=(Area(queues=frozenset({"q"})),))
        (seen,) = (await it.hub.hub.read(jobs.get_job, made["mine"]))["after"]
        assert (seen["uid"], seen["jobCluster"]) == (made["theirs"], "north")
        (told,) = (await HubWithin(it.hub.hub, mine).read(jobs.get_job, made["mine"]))["after"]
        assert told == {
            "name": "theirs", "condition": "ok", "state": "Waiting", "ended": seen["ended"],
            "uid": "", "jobState": "", "jobReason": "", "jobCluster": "", "since": None,
        }  # fmt: skip


async def test_that_a_job_never_goes_is_said_once(tmp_path):
    """The message changes with each job that fails; only the first failure adds an Event."""
    async with chained(tmp_path) as it:
        made = await it.submit(a="", b="", c="", last="a, b, c")
        for name in ("a", "b"):
            await it.ends(Transition.FAIL, made[name])
        rows = await it.hub.hub.read(lambda tx: events.list_events(tx, uid=made["last"]))
        assert [row.reason for row in rows].count("DependencyNeverSatisfied") == 1
        assert (await it.hub.job(made["last"])).reason == "DependencyNeverSatisfied"


async def test_names_that_came_are_bound_a_bounded_number_at_a_time(tmp_path, monkeypatch):
    """The result says that more names wait."""
    monkeypatch.setattr(settle, "MOST", 1)
    async with chained(tmp_path) as it:
        for name in ("x", "y"):
            await it.apply(f"after-{name}", name)
        for name in ("x", "y"):
            await it.apply(name)
        told = [await it.hub.hub.write(settle.bind_names, 1, None) for _ in range(3)]
        assert told == [(1, True), (1, True), (0, False)]

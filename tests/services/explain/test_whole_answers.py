"""What is told of one job, field by field, in each state; and each remedy as a sentence."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.plan import Reason, Refusal
from hub.domain.quota.declared import FlavorResource
from hub.domain.whatif.remedy import Remedy, RemedyKind
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.context import leadership, timeline
from hub.services.context.decisions import refusal_view
from hub.services.explain import avoided
from hub.services.explain.as_it_is_now import Position, WaitingView
from hub.services.explain.job import explain_job
from hub.services.explain.wording import Wording
from hub.services.index.held_back import HeldBack
from hub.store import clusters, schedule, settings, workloads
from hub.store.engine import Database
from hub.store.records.history import EventFacts
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.domain.build import NOW
from tests.domain.whatif.pictures import PRESENT, SECOND, a_holder
from tests.store.build import START, a_member, a_workload, call, opened

pytestmark = pytest.mark.anyio
LATER = "2026-03-01T13:00:00+00:00"
MINUTE = dt.timedelta(minutes=1)


async def told(db: Database, waiting: WaitingView | None = None, **columns: Any) -> dict[str, Any]:
    """The story of a job with these columns."""
    await db.write(lambda tx: workloads.add(tx, [a_workload("u", **columns)]))
    return await db.read(call(explain_job, "u", waiting))


async def test_every_field_of_a_story(tmp_path):
    """Its place, its reason, what was decided and when, whom it avoids and why, its checks, its events."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        clock.advance(60)

        def say(tx: Transaction) -> None:
            for reason, message in (("Other", "m"), ("Refused", "north: no")):
                tx.event(
                    uid="u", kind="Job", namespace="team-a", name="u", reason=reason,
                    message=message, type="Warning", facts=EventFacts("north", 2, "Refused"),
                )  # fmt: skip

        await db.write(say)
        check = {"state": "Pending", "message": "m", "at": "2026-03-01T12:00:00Z"}
        found = await told(
            db, state=State.RESERVED, name="n", queue="lq", cluster_queue="cq", priority=7,
            reason="R", message="M", cluster="c1", epoch=2, placement="p", admission={"a": 1},
            scores={"s": 1}, set_aside={"north": LATER}, nomination={"cluster": "c2"},
            checks={"budget": check}, reserved_at=START,
        )  # fmt: skip
        event = {"at": "2026-03-01T12:01:00Z", "type": "Warning"}
        assert found == {
            "uid": "u",
            "namespace": "team-a",
            "name": "n",
            "queue": "lq",
            "owner": "unknown",
            "clusterQueue": "cq",
            "priority": 7,
            "state": "Reserved",
            "reason": "R",
            "message": "M",
            "cluster": "c1",
            "epoch": 2,
            "placement": "p",
            "position": None,
            "waiting": None,
            "admission": {"a": 1},
            "decision": {"s": 1},
            "setAside": {"north": "2026-03-01T13:00:00Z"},
            "setAsideBecause": {"north": {"reason": "Refused", "message": "north: no"}},
            "nomination": {"cluster": "c2"},
            "checks": [
                {
                    "name": "budget", "controllerName": "", "state": "Pending", "message": "m",
                    "at": "2026-03-01T12:00:00Z", "requeueAfterSeconds": None, "retryCount": 0,
                    "podSetUpdates": [],
                }
            ],
            "timeline": [
                {
                    "at": "2026-03-01T12:00:00Z", "type": "Normal", "reason": "Submitted",
                    "message": "waits in queue lq",
                },
                event | {"reason": "Other", "message": "m"},
                event | {"reason": "Refused", "message": "north: no"},
            ],
            "clusterLoss": None,
            "earlierEpochs": [],
            "after": [],
            "before": [],
        }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"state": State.PENDING}, "has not been considered yet"),
        ({"state": State.HELD}, "held by its user or its queue"),
        ({"state": State.PLACED}, "placed; not offered to its agent yet"),
        ({"state": State.PLACED, "kind": "Workload"}, "admitted; its executor runs it"),
        ({"state": State.RUNNING, "kind": "Workload"}, "runs"),
        ({"state": State.RUNNING, "message": "own"}, "own"),
        ({"state": State.SUCCEEDED}, "finished"),
        *(
            (
                {"state": State.WITHDRAWING, "withdraw_to": to},
                f"is being withdrawn from its cluster; it {becomes} once nothing of it is left there",
            )
            for to, becomes in (
                (WithdrawTo.PENDING, "waits again"),
                (WithdrawTo.HELD, "is held"),
                (WithdrawTo.FAILED, "has failed"),
                (WithdrawTo.DEACTIVATED, "is deactivated"),
                (WithdrawTo.CANCELLED, "is cancelled"),
                (WithdrawTo.DELETED, "is deleted"),
            )
        ),
    ],
)
async def test_a_state_is_put_into_words(tmp_path, columns, words):
    """Where the job says nothing of its own."""
    async with opened(tmp_path) as db:
        assert (await told(db, **columns))["message"] == words


SINCE = "; c1 has been silent since 2026-03-01T12:00:00Z: "
NOBODY = (
    "no agent can confirm that nothing of it is left there, so it stays Withdrawing until the cluster "
    "answers or is fenced (roadstead clusters fence)"
)


@pytest.mark.parametrize(
    ("state", "heard", "added"),
    [
        (State.RUNNING, 46, f"{SINCE}this is its last known state"),
        (State.RUNNING, 44, ""),
        (State.UNKNOWN, 46, ""),
        (State.SUCCEEDED, 46, ""),
        (State.WITHDRAWING, 46, f"{SINCE}{NOBODY}"),
    ],
)
async def test_silence_is_added_to_what_was_known(tmp_path, state, heard, added):
    """Of a job that its cluster may run, once that is suspect."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        member = a_member("c1", joined_at=START, heartbeat_at=START)
        await db.write(call(clusters.add, member))
        clock.advance(heard)
        found = await told(db, state=state, message="M", cluster="c1", epoch=1)
        assert found["message"] == f"M{added}"


REFUSAL = Refusal("d", "cq", Reason.BEHIND_HEAD, "waits behind", head="h")
PLACE = Position(1, 2, 3, 4)


async def test_one_that_waits_is_told_as_its_class_is(tmp_path):
    """Place, reason, and who is ahead with its own reason; its row's own words are of earlier."""
    async with opened(tmp_path) as db:
        head = a_workload("h", name="first", reason="WaitingForQuota")
        await db.write(call(workloads.add, [head]))
        view = WaitingView(queue="cq", demand="d", position=PLACE, refusal=REFUSAL)
        found = await told(db, view, reason="old", message="old", epoch=0, scores={"s": 1})
        assert (found["clusterQueue"], found["reason"], found["message"]) == (
            "cq", "BehindHead", "waits behind: team-a/first (WaitingForQuota)",
        )  # fmt: skip
        assert found["position"] == {"inQueue": 1, "ofQueue": 2, "overall": 3, "ofOverall": 4}
        assert found["waiting"] == refusal_view(REFUSAL)
        assert found["decision"] is None, "of an earlier life"


async def test_elsewhere_it_is_told_as_the_last_cycle_wrote(tmp_path):
    """With when that was; where nothing was written the row speaks."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await db.write(lambda tx: leadership.seize(tx, "x"))
        assert term
        stored = refusal_view(Refusal("d", "cq", Reason.NO_CLUSTER_FITS, "no room"))
        await db.write(call(schedule.put_explanations, {"d": stored}))
        clock.advance(3600)
        view = WaitingView(queue="cq", demand="d", position=PLACE)
        found = await told(db, view, reason="old", message="old")
        assert (found["reason"], found["message"]) == (
            "NoClusterFits",
            "no room (as of 2026-03-01 12:00 UTC)",
        )
        other = await db.read(call(explain_job, "u", WaitingView(queue="cq", demand="e")))
        assert (other["reason"], other["message"], other["clusterQueue"]) == ("old", "old", "cq")


async def test_a_nominee_and_one_that_is_held_back_speak_for_themselves(tmp_path):
    """The sentence of its row, dated where it has figures; or why it is not in line."""
    async with opened(tmp_path) as db:
        nominated = WaitingView(queue="cq", demand="d", position=PLACE, nominated=True)
        found = await told(
            db, nominated, reason="R", message="1 of 2 used", nomination={"at": START.isoformat()}
        )
        assert (found["reason"], found["message"]) == (
            "R", "1 of 2 used (as of 2026-03-01 12:00 UTC)",
        )  # fmt: skip
        held = WaitingView(HeldBack("team-a", "q", "QueueStopped", "stopped"))
        found = await db.read(call(explain_job, "u", held))
        assert (found["reason"], found["message"], found["position"]) == (
            "QueueStopped", "stopped", None,
        )  # fmt: skip


async def test_words_of_the_member_that_refused_it_are_kept(tmp_path):
    """Where its class says only that no cluster matches; of another reason its class speaks."""
    async with opened(tmp_path) as db:
        reasons: dict[str, tuple[str, str]] = {}
        for reason in (Reason.NO_CLUSTER_MATCHES, Reason.NO_CLUSTER_FITS):
            view = WaitingView(queue="cq", demand="d", refusal=Refusal("d", "cq", reason, "m"))
            if not reasons:
                await told(db, view, reason="RefusedByMember", message="north: no")
            found = await db.read(call(explain_job, "u", view))
            reasons[str(reason)] = found["reason"], found["message"]
        assert reasons == {
            "NoClusterMatches": ("RefusedByMember", "north: no"),
            "NoClusterFits": ("NoClusterFits", "m"),
        }


@pytest.mark.parametrize(
    ("state", "reason", "message"),
    [
        (State.PENDING, str(timeline.CODE), timeline.BRIEFLY),
        (State.RUNNING, "R", f"M; {timeline.CODE}: {timeline.BRIEFLY}"),
        (State.SUCCEEDED, "R", "M"),
    ],
)
async def test_that_nothing_is_dispatched_is_said_of_what_has_not_ended(
    tmp_path, state, reason, message
):
    """Of one that waits it is the reason; of another it is added."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: settings.put(tx, "rolled_back", {"message": "stopped"}))
        found = await told(db, state=state, reason="R", message="M")
        assert (found["reason"], found["message"]) == (reason, message)


def test_causes_are_told_with_the_verdicts_that_they_explain():
    """In the member's words, without its name twice; verdicts of other rules stay as they are."""
    verdicts = [
        {"cluster": "north", "reason": "ClusterSetAside", "message": "set aside"},
        {"cluster": "south", "reason": "ClusterSetAside", "message": "set aside"},
        {"cluster": "east", "reason": "Suspect", "message": "silent"},
    ]
    causes = {name: {"reason": "R", "message": f"{name}: no"} for name in ("north", "east")}
    found = avoided.with_causes({"reason": "x", "clusters": verdicts}, causes)
    assert found["reason"] == "x"
    assert [each["message"] for each in found["clusters"]] == [
        "no (set aside)", "set aside", "silent",
    ]  # fmt: skip


CPU, GPU = FlavorResource("any", "cpu"), FlavorResource("big", "nvidia.com/gpu")
AMOUNTS = ((CPU, 1500), (GPU, 2))
MORE = "1500m cpu of flavor any and 2 nvidia.com/gpu of flavor big"
SOME = "with 1500m cpu of flavor any more as nominalQuota of ClusterQueue q"
JOB = "team-a/x (1 cpu, queue r, quota reserved)"


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (RemedyKind.TURN, {}, "it fits now: it is admitted when its turn comes"),
        (RemedyKind.PREEMPTION, {}, f"when its turn comes it preempts {JOB}"),
        (RemedyKind.RELEASE, {"amounts": AMOUNTS}, f"fits when {MORE} are released: {JOB}"),
        (RemedyKind.PRIORITY, {"number": 5}, f"with a priority above 5 it would preempt {JOB}"),
        (
            RemedyKind.PRIORITY,
            {"number": 5, "holders": ()},
            "with a priority above 5 it would be admitted now",
        ),
        (
            RemedyKind.POLICY,
            {"setting": "withinClusterQueue", "value": "Any"},
            f"with withinClusterQueue: Any in ClusterQueue q it would preempt {JOB}",
        ),
        (
            RemedyKind.BUDGET,
            {"number": 3},
            f"it would have to preempt 3 workloads: {JOB}; setting max_preempted_workloads allows fewer",
        ),
        (
            RemedyKind.MINIMUM_RUNTIME,
            {"at": PRESENT + 90 * SECOND},
            f"from 2026-01-01T12:01:30Z on it may preempt {JOB}: by then they have run long enough",
        ),
        (
            RemedyKind.PROTECTED,
            {"value": "r"},
            f"it could preempt {JOB}, were ClusterQueue r not one that is never preempted",
        ),
        (
            RemedyKind.QUOTA,
            {"amounts": AMOUNTS},
            f"fits with {MORE} more as nominalQuota of ClusterQueue q",
        ),
        (
            RemedyKind.BORROWING_LIMIT,
            {"amounts": AMOUNTS},
            f"fits with a borrowingLimit of ClusterQueue q higher by {MORE}",
        ),
        (
            RemedyKind.NODES,
            {"number": 1, "cluster": "c", "pod": (("cpu", 500),), "labels": (("a", "b"),)},
            "fits with a node with 500m cpu free and labels a=b on cluster c",
        ),
        (
            RemedyKind.UNCORDON,
            {"cluster": "c"},
            "fits once cluster c is uncordoned: roadstead clusters uncordon c",
        ),
        (
            RemedyKind.CONSTRAINTS,
            {},
            "fits without its annotations that restrict it to some clusters",
        ),
        (
            RemedyKind.SET_ASIDE,
            {"cluster": "c"},
            "fits once cluster c is no longer set aside for it",
        ),
        (
            RemedyKind.QUOTA,
            {"amounts": AMOUNTS[:1], "rest": "a node"},
            f"its quota suffices {SOME}; missing even then: a node",
        ),
    ],
)
def test_each_remedy_is_a_sentence_of_its_own(kind, given, said):
    """With its numbers and names; and the same as fields."""
    columns: dict[str, Any] = {"holders": (a_holder("x", queue="r", priority=3, cluster="c9"),)}
    remedy = Remedy(kind, **(columns | given))
    found = Wording("q", {"x": ("team-a", "x")}, {}, NOW).remedy(remedy)
    assert found["message"] == said
    jobs = [
        {
            "uid": "x", "namespace": "team-a", "name": "x", "endsAt": None, "clusterQueue": "r",
            "priority": 3, "cluster": "c9", "since": None,
        }
    ] * len(remedy.holders)  # fmt: skip
    amounts = [
        {"flavor": "any", "resource": "cpu", "amount": "1500m"},
        {"flavor": "big", "resource": "nvidia.com/gpu", "amount": "2"},
    ]
    at = "2026-01-01T12:01:30Z" if remedy.at else None
    assert {name: value for name, value in found.items() if name != "message"} == {
        "kind": kind.value, "amounts": amounts[: len(remedy.amounts)], "jobs": jobs,
        "jobsTotal": len(jobs), "number": remedy.number, "cluster": remedy.cluster, "at": at,
    }  # fmt: skip

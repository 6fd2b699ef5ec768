"""What the bridge does the second time: told again, listed again, later, once more after it was gone."""

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.check_conditions import CheckConditions
from hub.bridge.condition import BridgeCondition
from hub.bridge.events import MOST, TOGETHER
from hub.bridge.following import Following
from hub.bridge.kinds import WORKLOAD
from hub.bridge.workload_objects import WorkloadObjects
from hub.bridge.writeback import WAITS
from hub.services.context import hub_cluster
from hub.services.kueue_view.workload import workload_name
from hub.store import objects, workloads
from shared import labels
from shared.clock import ManualClock
from shared.conditions import find
from shared.groups import KUEUE
from shared.kube import errors
from tests.bridge.hub_cluster import until
from tests.bridge.parts import (
    CHECK,
    KINDS,
    Parts,
    a_check,
    a_config_map,
    a_job,
    a_placement_row,
    on_simulated,
)
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


class Identity:
    """A hub cluster's API server that says who it is, and which webhooks it has."""

    def __init__(self, uid: str = "cluster-1") -> None:
        self.uid = uid
        self.webhooks: list[dict[str, Any]] = []
        self.answers = True

    async def get(self, *_address: str) -> dict[str, Any]:
        return {"metadata": {"uid": self.uid}}

    async def list(self, _version: str, _kind: str) -> Any:
        return Listing(self.webhooks)

    async def create(self, _obj: Any, **_options: Any) -> dict[str, Any]:
        return {"spec": {"managedBy": labels.JOB_CONTROLLER}}

    async def probe(self, _timeout_s: float) -> None:
        if not self.answers:
            raise errors.Unavailable(0, "TimedOut", "no answer")


class Listing:
    def __init__(self, items: list[dict[str, Any]]) -> None:
        self.items = items


def webhook(name: str, hook: str, group: str = "apps") -> dict[str, Any]:
    rules = [{"apiGroups": [group]}]
    return {"metadata": {"name": name}, "webhooks": [{"name": hook, "rules": rules}]}


# --- the bridge's own condition -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "stops"),
    [
        ([("v1/A", "7"), ("v1/A", "7")], False),
        ([("v1/A", "7"), ("v1/A", "8"), ("v1/A", "8")], False),
        ([("v1/A", "7"), ("v1/B", "3")], False),
        ([("v1/A", "10"), ("v1/A", "9")], True),
        ([("v1/A", "7"), ("v1/A", ""), ("v1/A", "x"), ("v1/A", "7")], False),
    ],
)
async def test_only_a_version_that_goes_back_is_of_an_older_copy(
    tmp_path: Path, lists: list[tuple[str, str]], stops: bool
):
    """A list read again without a change has the same one; each kind counts for itself."""
    async with running_hub(tmp_path) as hub:
        condition = BridgeCondition(hub.hub, lambda: 1)
        for kind, version in lists:
            await condition.note_version(kind, version)
        assert condition.stopped is stops


async def test_a_stop_keeps_its_first_words(tmp_path: Path):
    """What was found first is what an administrator is asked about; another reason is told."""
    async with running_hub(tmp_path) as hub:
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.stop("AbsentWithoutDeletion", "3 Job")
        await condition.stop("AbsentWithoutDeletion", "1 Job")
        assert condition.message == "3 Job"
        await condition.stop("TooManyDeletions", "9 of 10")
        told = await hub.hub.read(hub_cluster.show)
        assert (told["reason"], told["message"]) == ("TooManyDeletions", "9 of 10")


async def test_looking_at_the_identity_lifts_only_what_it_has_found(tmp_path: Path):
    """Another cluster's address, or Kueue, that is away; not what an administrator has to decide."""
    async with running_hub(tmp_path) as hub:
        server: Any = Identity()
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.check(server)
        server.uid = "cluster-2"
        await condition.check(server)
        assert condition.reason == "HubClusterChanged"
        server.uid = "cluster-1"
        await condition.check(server)
        assert not condition.stopped
        await condition.stop("TooManyDeletions", "9 of 10")
        await condition.check(server)
        assert condition.reason == "TooManyDeletions"


async def test_an_identity_that_could_be_read_is_an_answer(tmp_path: Path):
    """Two questions without one, on both sides of it, are not two in a row."""
    async with running_hub(tmp_path) as hub:
        server: Any = Identity()
        condition = BridgeCondition(hub.hub, lambda: 1)
        server.answers = False
        await condition.ask(server)
        await condition.check(server)
        await condition.ask(server)
        assert (await hub.hub.read(hub_cluster.show))["reason"] == "Running"


@pytest.mark.parametrize(
    ("hook", "stops"),
    [
        (webhook("kueue-validating", "vjob.kb.io", "batch"), False),
        (webhook("kueue-validating", "vjob.kueue.x-k8s.io"), True),
        (webhook("kueue-mutating", "mjob.kb.io", KUEUE), True),
        (webhook("policies", "kueue.example.com", KUEUE), False),
    ],
)
async def test_kueue_is_known_by_its_own_webhooks(tmp_path: Path, hook: Any, stops: bool):
    """A policy engine that looks at Kueue's kinds admits nothing."""
    async with running_hub(tmp_path) as hub:
        server: Any = Identity()
        server.webhooks = [webhook("first", "x"), hook]
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.check(server)
        assert condition.reason == ("HubClusterHasKueue" if stops else "")


# --- Events ---------------------------------------------------------------------------------------


async def told(it: Parts) -> dict[str, dict[str, Any]]:
    return {each["reason"]: each for each in (await it.kube.list("v1", "Event")).items}


async def test_of_too_many_events_the_oldest_are_left_out(tmp_path: Path):
    """What is said last is what people look for."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        found = it.sources.get(it.sources.place_of(job["metadata"]["uid"]))
        over = 10
        for number in range(TOGETHER + over + MOST):
            it.events.warn(*found, f"R{number}", "something is wrong")
        await it.events.turn()
        await it.events.turn()
        left_out = {f"R{number}" for number in range(TOGETHER, TOGETHER + over)}
        reasons = set(await told(it))
        assert not reasons & left_out
        assert {"R0", f"R{TOGETHER + over}"} <= reasons


async def test_an_event_is_of_the_moment_at_which_it_happened(tmp_path: Path):
    """Not of that at which it could be written; what is wrong now is of now."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, clock=clock) as (it, _):
        job = await it.create(a_job())
        await it.events.turn()
        metadata = job["metadata"]
        await it.hub.write(
            lambda tx: tx.event(
                uid=metadata["uid"], kind="Job", namespace="lab", name="one",
                reason="Happened", message="x" * 2000,
            )
        )  # fmt: skip
        clock.advance(90)
        it.events.warn(*it.sources.get(it.sources.place_of(metadata["uid"])), "Wrong", "it is")
        await it.events.turn()
        events = await told(it)
        assert events["Happened"]["lastTimestamp"] == "2026-05-01T12:00:00Z"
        assert events["Wrong"]["lastTimestamp"] == "2026-05-01T12:01:30Z"
        assert len(events["Happened"]["message"]) == 1024
        assert events["Happened"]["involvedObject"]["resourceVersion"]


async def test_why_a_job_waits_is_told_after_a_moment_and_once(tmp_path: Path):
    """When its time has come nobody has to look; other numbers of the same reason are no news."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, clock=clock) as (it, _):
        job = await it.create(a_job())
        await it.take()
        uid = job["metadata"]["uid"]
        row = await it.job(job)
        clock.advance((row.created_at + WAITS - clock.now()).total_seconds() - 1)
        seen = []
        for message in ("3 cpu more", "2 cpu more"):
            refused = {"uid": uid, "reason": "QuotaExhausted", "message": message}
            await it.hub.write(lambda tx, refused=refused: workloads.refuse(tx, [refused]))
            it.writeback.note(uid)
            await it.writeback.turn()
            await it.events.turn()
            seen.append("QuotaExhausted" in await told(it))
            clock.advance(1)
            await it.writeback.turn()
            await it.events.turn()
        events = (await it.kube.list("v1", "Event")).items
        waiting = [each["message"] for each in events if each["reason"] == "QuotaExhausted"]
        assert seen == [False, True]
        assert waiting == ["3 cpu more"]


# --- what is followed -----------------------------------------------------------------------------


async def test_what_can_not_be_read_is_news_once_and_again_for_a_new_placement(tmp_path: Path):
    """Of one that was dropped and comes back the status is to be written anew."""
    async with on_simulated(tmp_path) as (it, cluster):
        cluster.faults.add("403", verb="list", resource="secrets", count=0)
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        row = a_placement_row("Secret", "lab", "one")
        told = []
        for _ in range(2):
            following.learn([row])
            await following.turn()
            await until(partial(refused, following, row.uid))
            told += [following.news(), following.news()]
            following.drop(row.uid)
            assert following.unreadable(row.uid) == ""
        assert told == [[row.uid], [], [row.uid], []]


async def refused(following: Following, uid: str) -> bool:
    return "Secret" in following.unreadable(uid)


@pytest.mark.parametrize(
    ("change", "follows"),
    [({}, True), ({"api_group": "example.com"}, False), ({"kind": "ConfigMap"}, False)],
    ids=str,
)
async def test_only_placements_of_their_own_group_select(
    tmp_path: Path, change: dict[str, Any], follows: bool
):
    """Somebody else's kind may have the same name."""
    async with on_simulated(tmp_path) as (it, _):
        following = Following(it.kube, it.sources, it.index, it.hub.hub.clock)
        row = a_placement_row("Secret", "lab", "one")._replace(**change)
        assert following.learn([row]) is follows


async def test_the_clusters_own_namespaces_are_not_taken(tmp_path: Path):
    """A user's is; nothing is ever placed into the others."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        assert await it.job(job)
        find_namespace = [
            await it.hub.hub.read(objects.find, "", "Namespace", "", name)
            for name in ("lab", "kube-system")
        ]
        assert [bool(each) for each in find_namespace] == [True, False]


async def test_an_absence_that_a_list_shows_is_not_certain(tmp_path: Path):
    """The watch's own word of a deletion is."""
    async with on_simulated(tmp_path) as (it, _):
        made = await it.create(a_config_map())
        await it.kube.delete("v1", "ConfigMap", "lab", "one")

        async def noticed() -> bool:
            return bool(it.sources.absent)

        await until(noticed)
        (absence,) = it.sources.absent
        assert absence.certain
        assert it.sources.place_of(made["metadata"]["uid"]) is None


async def test_our_own_word_of_a_check_is_not_its_controllers(tmp_path: Path):
    """Condition Accepted is the bridge's: alone it says nothing of whether the check is served."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check())
        at = {"lastTransitionTime": "2026-05-01T00:00:00Z", "message": ""}
        ours = {"type": "Accepted", "status": "True", "reason": "Accepted", **at}
        theirs = {"type": "Active", "status": "True", "reason": "Here", **at}
        await it.take()
        checks = CheckConditions(it.hub.hub, it.sources)
        kinds = []
        for conditions in ([ours], [ours, theirs]):
            await it.patch(made, {"status": {"conditions": conditions}}, "status")
            await checks.turn(it.term)
            row = await it.object(made)
            kinds.append([each["type"] for each in (row.status or {}).get("conditions") or ()])
        assert ("Accepted" in kinds[0], "Active" in kinds[0]) == (False, False)
        assert ("Accepted" in kinds[1], "Active" in kinds[1]) == (False, True)


async def test_a_back_off_that_has_ended_is_shown_when_it_has(tmp_path: Path):
    """Time alone changes what the Workload says: no event tells of it."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD], clock) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        uid, until = job["metadata"]["uid"], clock.now() + dt.timedelta(seconds=60)
        evicted = {"reason": "PodsReadyTimeout", "message": "m", "at": "2026-05-01T12:00:00Z"}
        change: Any = {"uid": uid, "requeue_at": until, "evicted": evicted}
        await it.hub.write(lambda tx: workloads.change(tx, [change]))
        shown = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        shown.note([uid])
        at = (f"{KUEUE}/v1beta2", "Workload", "lab", workload_name(await it.job(job)))
        requeued = []
        for _ in range(2):
            await shown.turn()
            made = await it.kube.get(*at)
            await it.shows(made)
            requeued.append(find(made["status"]["conditions"], "Requeued")["status"])
            clock.advance(61)
        assert requeued == ["False", "True"]

"""Each write to a member by itself: what it makes, what it leaves alone, and the outcome that it tells."""

import copy

import pytest

from agent.decide.decision import Outcome
from agent.member.applier import Applier
from agent.objects.manifests import start_patch, unstarted
from shared import labels
from shared.clock import SystemClock
from tests.agent.build import a_config_map, edit
from tests.agent.scripted_hub import HUB_ID, a_job, an_object, eventually

pytestmark = pytest.mark.anyio
MARKS = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "u-1", labels.EPOCH: "1"}


@pytest.fixture
def applier(member):
    return Applier(member.kube, HUB_ID, SystemClock())


def settings(uid="o-1", rule="Never", **data):
    return an_object(a_config_map(**data), uid, when_to_take_over=rule)


async def held(member, name="settings"):
    return await member.kube.get("v1", "ConfigMap", "team", name)


async def quiet(member):
    """The Job `job`, once its controller has said that it is suspended and says no more."""

    def is_said():
        held = member.cluster.store.get("jobs.batch", "team", "job")
        return held is not None and (held.get("status") or {}).get("conditions")

    await eventually(is_said)
    return await member.job()


def reason(outcome):
    return outcome.trouble and outcome.trouble.reason


async def stripped(member, applier):
    """Our object, whose labels somebody has taken off and whose colour they have changed."""
    ours = (await applier.apply(settings(), None, "")).live
    off = {"metadata": {"labels": None}, "data": {"colour": "blue"}}
    await edit(member, "ConfigMap", "settings", off)
    return ours["metadata"]["uid"]


async def test_an_object_whose_labels_were_taken_off_is_ours_by_its_uid(member, applier):
    """Whatever the rule for strangers says, it is written over and has its labels again."""
    uid = await stripped(member, applier)
    outcome = await applier.apply(settings(), None, uid)
    assert outcome == Outcome(live=await held(member))
    assert outcome.live["metadata"]["uid"] == uid
    assert outcome.live["data"] == {"colour": "red"}
    assert outcome.live["metadata"]["labels"][labels.JOB_UID] == "o-1"


async def test_without_its_uid_it_is_a_strangers(member, applier):
    """Nothing of it is changed."""
    await stripped(member, applier)
    before = await held(member)
    outcome = await applier.apply(settings(), None, "another")
    assert (reason(outcome), outcome.live, outcome.taken_by) == ("NameConflict", None, "")
    assert await held(member) == before


async def test_a_name_that_another_work_of_ours_holds_is_awaited(member, applier):
    """The other is named, so that it can make room; nothing of it is changed."""
    await applier.apply(settings("o-2"), None, "")
    before = await held(member)
    outcome = await applier.apply(settings(colour="blue"), None, "")
    assert (reason(outcome), outcome.taken_by) == ("NameTaken", "o-2")
    assert await held(member) == before


async def test_what_the_user_lets_go_is_left_out_of_an_apply(member, applier):
    """Its value stays as it was found; the rest is as declared."""
    live = (await applier.apply(settings(colour="red", size="1"), None, "")).live
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue", "size": "9"}})
    wanted = settings(colour="red", size="1")
    after = (await applier.apply(wanted, live, "", [("data", "colour")])).live
    assert after["data"] == {"colour": "blue", "size": "1"}


async def test_a_dry_run_says_what_an_apply_would_make_and_makes_nothing(member, applier):
    """Of the object with that uid; of one that is gone nothing is said."""
    live = (await applier.apply(settings(), None, "")).live
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    before = await held(member)
    would = await applier.dry_run(settings(colour="green"), live)
    assert would["data"] == {"colour": "green"}
    assert would["metadata"]["uid"] == live["metadata"]["uid"]
    assert await held(member) == before
    live["metadata"]["uid"] = "another"
    assert await applier.dry_run(settings(), live) is None


@pytest.mark.parametrize("strict", [True, False])
async def test_a_strict_deletion_is_of_the_version_that_was_seen(member, applier, strict):
    """A later version stays, and is told as it is now; else the object goes whatever its version."""
    live = (await applier.apply(settings(), None, "")).live
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    outcome = await applier.delete(live, "Background", strict=strict)
    assert outcome.trouble is None
    is_there = member.cluster.store.get("configmaps", "team", "settings") is not None
    assert is_there is strict
    if strict:
        assert outcome.live == await held(member)


async def test_what_is_gone_before_its_deletion_is_absent_since_it_was_read(member, applier):
    """The instant is that at which the read began: what was made later is not concluded away."""
    live = (await applier.apply(settings(), None, "")).live
    await member.kube.delete("v1", "ConfigMap", "team", "settings")
    before = applier._clock.monotonic()
    outcome = await applier.delete(live, "Background", strict=True)
    assert outcome == Outcome(absent_at=outcome.absent_at)
    assert before <= outcome.absent_at <= applier._clock.monotonic()


async def test_a_job_is_made_unstarted_under_our_name(member, applier):
    """As it is composed, with the mark; what is told is what the member holds."""
    outcome = await applier.create(a_job(), make_namespace=True, mark="m")
    made = outcome.live
    assert outcome == Outcome(live=made)
    assert made["metadata"]["uid"] == (await member.job())["metadata"]["uid"]
    assert made["spec"]["suspend"] is True
    marks = made["metadata"]["annotations"]
    assert (marks[labels.NOT_STARTED], marks[labels.MARK]) == ("true", "m")
    assert made["metadata"]["finalizers"] == [labels.MEMBER_FINALIZER]
    assert {each["manager"] for each in made["metadata"]["managedFields"]} >= {"roadstead"}


@pytest.mark.parametrize("make", [True, False])
async def test_a_missing_namespace_is_made_for_a_job_where_that_is_said(member, applier, make):
    """It carries the hub's label and no work's; else the job waits for it."""
    outcome = await applier.create(a_job(namespace="new"), make_namespace=make, mark="m")
    if not make:
        assert (reason(outcome), outcome.live) == ("NamespaceMissing", None)
        assert member.cluster.store.get("namespaces", "", "new") is None
        return
    assert outcome.live["metadata"]["annotations"][labels.MARK] == "m"
    made = await member.kube.get("v1", "Namespace", "", "new")
    own = {key: value for key, value in made["metadata"]["labels"].items() if "roadstead" in key}
    assert own == {labels.MANAGED_BY: HUB_ID, labels.CREATED_BY: HUB_ID}


@pytest.mark.parametrize(
    ("uid", "marks", "expected"),
    [
        ("u-1", MARKS, (None, True, "")),
        ("u-2", {**MARKS, labels.JOB_UID: "u-2"}, ("NameTaken", False, "u-2")),
        ("u-1", {**MARKS, labels.MANAGED_BY: "hub-2"}, ("NameConflict", False, "")),
        ("u-1", {"team": "red"}, ("NameConflict", False, "")),
    ],
)
async def test_who_holds_the_name_of_a_job_decides(member, applier, uid, marks, expected):
    """Its own Job is adopted, another of ours is named, a stranger's is told; nothing is written."""
    manifest = unstarted(a_job(uid), HUB_ID)
    manifest["metadata"]["labels"] = dict(marks)
    await member.kube.create(manifest, field_manager="someone")
    there = await quiet(member)
    outcome = await applier.create(a_job(), make_namespace=True)
    found = (reason(outcome), outcome.live == there, outcome.taken_by)
    assert found == expected
    assert await member.job() == there


async def test_a_patch_of_a_job_that_was_replaced_tells_the_one_that_is_there(member, applier):
    """It is tried again on that one; where there is none, it is absent."""
    await applier.create(a_job(), make_namespace=True)
    live = await quiet(member)
    patch = start_patch(a_job(), live)
    patch["metadata"]["uid"] = "another"
    outcome = await applier.patch_job(a_job(), patch)
    assert (reason(outcome), outcome.live) == ("Retrying", await member.job())
    assert outcome.live["spec"]["suspend"] is True
    nowhere = await applier.patch_job(a_job(name="elsewhere"), patch)
    assert (nowhere.live, nowhere.trouble) == (None, None)
    assert nowhere.absent_at is not None


async def test_a_job_that_is_released_keeps_the_finalizers_of_others(member, applier):
    """Ours goes off the version that was seen; of a later one nothing goes, and it is told."""
    manifest = a_job().manifest | {"spec": {**a_job().manifest["spec"], "suspend": True}}
    manifest["metadata"]["finalizers"] = ["a.io/x", labels.MEMBER_FINALIZER]
    await member.kube.create(manifest, field_manager="test")
    live = await quiet(member)
    mine = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
    off = {"metadata": {**mine, "finalizers": ["a.io/x"]}}
    stale = copy.deepcopy(off)
    stale["metadata"]["resourceVersion"] = "1"
    later = await applier.release(
        {**live, "metadata": {**live["metadata"], "resourceVersion": "1"}}, stale
    )
    assert later == Outcome(live=await member.job())
    assert (await applier.release(live, off)).live["metadata"]["finalizers"] == ["a.io/x"]


async def test_labels_of_a_job_that_was_stripped_are_put_back_on_it_alone(member, applier):
    """One that is known by its uid has them again; one that belongs to another is absent."""
    await applier.create(a_job(epoch=3), make_namespace=True)
    live = await quiet(member)
    off = {"metadata": {"labels": {**dict.fromkeys(MARKS), "team": "red"}}}
    await member.kube.merge_patch("batch/v1", "Job", "team", "job", off, field_manager="someone")
    back = await applier.read_back(a_job(epoch=3), live["metadata"]["uid"])
    assert back == Outcome(live=await member.job())
    own = {key: back.live["metadata"]["labels"][key] for key in MARKS}
    assert own == {**MARKS, labels.EPOCH: "3"}
    other = await applier.read_back(a_job("u-2"), "unknown")
    assert (other.live, other.absent_at is not None) == (None, True)
    assert await applier.read_back(a_job(epoch=3), "") == back


async def test_pods_are_counted_of_the_job_that_is_asked_for(member, applier):
    """Those that still run are told by their number; of another job, or none, it is podless."""
    await member.kube.create(a_job(run_seconds="600", parallelism=2).manifest, field_manager="t")
    await eventually(lambda: len(member.cluster.store.list("pods")) == 2)
    left = await applier.count_pods("team", "u-1")
    assert (reason(left), left.trouble.message) == ("PodsRemain", "2 pods still exist")
    before = applier._clock.monotonic()
    none = await applier.count_pods("team", "u-2")
    assert none == Outcome(podless_at=none.podless_at)
    assert before <= none.podless_at


def an_event(name, uid, at, *, series="", kind="Warning"):
    more = {"series": {"count": 2, "lastObservedTime": series}} if series else {}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "team"},
        "involvedObject": {"kind": "Job", "name": "job", "namespace": "team", "uid": uid},
        "type": kind,
        "reason": f"R-{name}",
        "message": f"M-{name}",
        "lastTimestamp": at,
        **more,
    }


async def test_the_newest_warning_about_an_object_says_why(member, applier):
    """One that goes on counts from when it was seen last; those of others and mere news do not."""
    job = {"metadata": {"namespace": "team", "uid": "j-1"}}
    assert await applier.explain(job) == ("", "")
    for event in (
        an_event("old", "j-1", "2026-01-01T00:00:01Z"),
        an_event("goes-on", "j-1", "2026-01-01T00:00:00Z", series="2026-01-01T00:00:09Z"),
        an_event("new", "j-1", "2026-01-01T00:00:05Z"),
        an_event("other", "j-2", "2026-01-01T00:00:20Z"),
        an_event("news", "j-1", "2026-01-01T00:00:30Z", kind="Normal"),
    ):
        await member.kube.create(event, field_manager="test")
    assert await applier.explain(job) == ("R-goes-on", "M-goes-on")


async def test_a_namespace_that_is_being_deleted_is_going(member, applier):
    """One that is there is not, nor is one that nobody knows."""
    held_by = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "team", "finalizers": ["a.io/x"]},
    }
    await member.kube.create(held_by, field_manager="test")
    asked = [await applier.is_namespace_going(name) for name in ("team", "nowhere")]
    assert asked == [False, False]
    await member.kube.delete("v1", "Namespace", "", "team")
    assert await applier.is_namespace_going("team")

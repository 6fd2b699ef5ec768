"""What is decided about one work, as tables over what is desired and what is seen."""

import datetime as dt

import pytest

from agent.plan import Picture, Seen, Trouble, decide, job_patch, stamped
from shared import labels
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def a_picture(**changes):
    given = {
        "hub_id": HUB_ID,
        "now": 1000.0,
        "wall": NOW,
        "may_create": True,
        "settled": True,
        **changes,
    }
    return Picture(**given)


def a_live_job(work=None, *, ended_ago=None, deleting=False, **changes):
    manifest = (work or a_job(**changes)).manifest
    live = {**manifest, "metadata": {**manifest["metadata"], "uid": "m-1"}, "status": {}}
    if ended_ago is not None:
        at = (NOW - dt.timedelta(seconds=ended_ago)).isoformat()
        done = {"type": "Complete", "status": "True", "lastTransitionTime": at}
        live["status"] = {"conditions": [done], "completionTime": at}
    if deleting:
        live["metadata"]["deletionTimestamp"] = NOW.isoformat()
    return live


def settled(work, seen, **picture):
    decision = decide(work, seen, a_picture(**picture))
    return decision.do, decision.phase, decision.reason


APPLY, KEEP, WITHDRAW = a_job(), a_job(action="Keep", ttl_s=60), a_job(action="Withdraw")

JOBS = [
    ("absent", APPLY, Seen(), {}, ("Create", "Waiting", "Creating")),
    (
        "absent, lease over",
        APPLY,
        Seen(),
        {"may_create": False},
        ("Nothing", "Waiting", "LeaseExpired"),
    ),
    (
        "cache not complete",
        APPLY,
        Seen(),
        {"synced": False},
        ("Nothing", "Waiting", "Observing"),
    ),
    ("there", APPLY, Seen(live=a_live_job()), {}, ("Nothing", "Applied", "")),
    (
        "there, older generation",
        a_job(generation=2),
        Seen(live=a_live_job()),
        {},
        ("PatchJob", "Applied", ""),
    ),
    (
        "there, older generation, ended",
        a_job(generation=2),
        Seen(live=a_live_job(ended_ago=1)),
        {},
        ("Nothing", "Applied", ""),
    ),
    (
        "lower epoch there",
        a_job(epoch=2),
        Seen(live=a_live_job()),
        {},
        ("Delete", "Waiting", "EarlierEpochGoing"),
    ),
    (
        "lower epoch going",
        a_job(epoch=2),
        Seen(live=a_live_job(deleting=True)),
        {},
        ("Nothing", "Waiting", "EarlierEpochGoing"),
    ),
    (
        "lower epoch's pods left",
        a_job(epoch=2),
        Seen(pods=2),
        {},
        ("Nothing", "Waiting", "EarlierEpochGoing"),
    ),
    (
        "higher epoch there",
        a_job(epoch=1),
        Seen(live=a_live_job(epoch=2)),
        {},
        ("Nothing", "Applied", "NewerEpoch"),
    ),
    (
        "higher epoch there, withdrawn",
        a_job(epoch=1, action="Withdraw"),
        Seen(live=a_live_job(epoch=2)),
        {},
        ("Nothing", "Applied", "NewerEpoch"),
    ),
    ("was there", APPLY, Seen(ever=True), {}, ("Nothing", "Missing", "Missing")),
    (
        "was there, session young",
        APPLY,
        Seen(ever=True),
        {"settled": False},
        ("Nothing", "Waiting", "LeaseWait"),
    ),
    ("hub saw it", a_job(seen=True), Seen(), {}, ("Nothing", "Missing", "Missing")),
    (
        "vanished",
        APPLY,
        Seen(ever=True, vanished=True),
        {},
        ("ReadBack", "Waiting", "Vanished"),
    ),
    (
        "name is a stranger's",
        APPLY,
        Seen(trouble=Trouble("NameConflict"), not_before=1010),
        {},
        ("Nothing", "Failed", "NameConflict"),
    ),
    (
        "tried again when due",
        APPLY,
        Seen(trouble=Trouble("NameConflict"), not_before=990),
        {},
        ("Create", "Waiting", "Creating"),
    ),
    (
        "invalid for good",
        APPLY,
        Seen(trouble=Trouble("Invalid", final=True), not_before=990),
        {},
        ("Nothing", "Failed", "Invalid"),
    ),
    (
        "member unavailable",
        APPLY,
        Seen(trouble=Trouble("Unavailable"), not_before=1010),
        {},
        ("Nothing", "Waiting", "Unavailable"),
    ),
    (
        "withdrawn, there",
        WITHDRAW,
        Seen(live=a_live_job()),
        {},
        ("Delete", "Applied", "Withdrawing"),
    ),
    (
        "withdrawn, going",
        WITHDRAW,
        Seen(live=a_live_job(deleting=True)),
        {},
        ("Nothing", "Applied", "Withdrawing"),
    ),
    (
        "withdrawn, pods left",
        WITHDRAW,
        Seen(pods=1),
        {},
        ("Nothing", "Waiting", "PodsRemain"),
    ),
    (
        "withdrawn, creation unknown",
        WITHDRAW,
        Seen(unknown_until=1005),
        {},
        ("ReadBack", "Waiting", "OutcomeUnknown"),
    ),
    (
        "withdrawn, session young",
        WITHDRAW,
        Seen(),
        {"settled": False},
        ("Nothing", "Waiting", "LeaseWait"),
    ),
    ("withdrawn, absent", WITHDRAW, Seen(), {}, ("Nothing", "Gone", "")),
    ("kept", KEEP, Seen(live=a_live_job(ended_ago=59)), {}, ("Nothing", "Applied", "")),
    (
        "kept, over",
        KEEP,
        Seen(live=a_live_job(ended_ago=61)),
        {},
        ("Delete", "Applied", "Expiring"),
    ),
    (
        "kept, over, session young",
        KEEP,
        Seen(live=a_live_job(ended_ago=61)),
        {"settled": False},
        ("Nothing", "Applied", "LeaseWait"),
    ),
    (
        "kept for good",
        a_job(action="Keep"),
        Seen(live=a_live_job(ended_ago=9999)),
        {},
        ("Nothing", "Applied", ""),
    ),
    (
        "kept, its name needed",
        a_job(action="Keep"),
        Seen(live=a_live_job(ended_ago=1), make_room=True),
        {},
        ("Delete", "Applied", "Expiring"),
    ),
    ("kept, absent", KEEP, Seen(ever=True), {}, ("Nothing", "Gone", "")),
]


@pytest.mark.parametrize(
    ("work", "seen", "picture", "wanted"), [c[1:] for c in JOBS], ids=[c[0] for c in JOBS]
)
def test_jobs(work, seen, picture, wanted):
    """A Job is created once, under a fresh lease, one epoch at a time, and never made again."""
    assert settled(work, seen, **picture) == wanted


def test_a_kept_job_wakes_when_its_time_is_over():
    """The decision says when to look again."""
    decision = decide(KEEP, Seen(live=a_live_job(ended_ago=20)), a_picture())
    assert decision.wake_at == 1040


def test_deletion_of_a_withdrawn_job_waits_for_its_pods():
    """Foreground when withdrawn, so that the object goes last; background when its time is over."""
    withdrawn = decide(WITHDRAW, Seen(live=a_live_job()), a_picture())
    over = decide(KEEP, Seen(live=a_live_job(ended_ago=61)), a_picture())
    assert (withdrawn.propagation, over.propagation) == ("Foreground", "Background")


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
OBJECT = an_object(CONFIG, "o-1")
CAREFUL = an_object(CONFIG, "o-1", when_to_apply="IfNotDrifted")
NEWER = an_object(CONFIG, "o-1", generation=2)
NEWER_CAREFUL = an_object(CONFIG, "o-1", generation=2, when_to_apply="IfNotDrifted")
LIVE = {**OBJECT.manifest, "metadata": {**OBJECT.manifest["metadata"], "uid": "m-1"}}

OBJECTS = [
    ("absent", OBJECT, Seen(), {}, ("Apply", "Waiting", "Applying")),
    (
        "absent, without lease",
        OBJECT,
        Seen(),
        {"may_create": False},
        ("Apply", "Waiting", "Applying"),
    ),
    (
        "earlier wave pending",
        OBJECT,
        Seen(),
        {"wave_open": False},
        ("Nothing", "Waiting", "EarlierWave"),
    ),
    (
        "kind not served",
        OBJECT,
        Seen(),
        {"served": False},
        ("Nothing", "Failed", "KindNotServed"),
    ),
    ("there", OBJECT, Seen(live=LIVE), {}, ("Nothing", "Applied", "")),
    ("newer generation", NEWER, Seen(live=LIVE), {}, ("Apply", "Waiting", "")),
    ("drifted", OBJECT, Seen(live=LIVE, drifted=True), {}, ("Apply", "Applied", "")),
    (
        "drifted again and again",
        OBJECT,
        Seen(live=LIVE, drifted=True, not_before=1030),
        {},
        ("Nothing", "Applied", ""),
    ),
    (
        "drifted, left alone",
        CAREFUL,
        Seen(live=LIVE, drifted=True),
        {},
        ("Nothing", "Applied", ""),
    ),
    (
        "drifted, newer, left alone",
        NEWER_CAREFUL,
        Seen(live=LIVE, drifted=True),
        {},
        ("Nothing", "Failed", "FoundDrifts"),
    ),
    (
        "someone deletes it",
        OBJECT,
        Seen(live={**LIVE, "metadata": {**LIVE["metadata"], "deletionTimestamp": "now"}}),
        {},
        ("Nothing", "Waiting", "Deleting"),
    ),
]


@pytest.mark.parametrize(
    ("work", "seen", "picture", "wanted"), [c[1:] for c in OBJECTS], ids=[c[0] for c in OBJECTS]
)
def test_objects(work, seen, picture, wanted):
    """An object is kept as declared, by the user's rule where it has drifted."""
    assert settled(work, seen, **picture) == wanted


def test_a_patch_holds_what_may_change_and_never_suspend():
    """Only changed mutable fields, labels and annotations, with the uid as precondition."""
    live = a_live_job(parallelism=1, completions=4, suspend=False)
    newer = a_job(parallelism=3, completions=4, generation=2, suspend=True)
    patch = job_patch(newer, live)
    assert patch["spec"] == {"parallelism": 3}
    assert patch["metadata"]["uid"] == "m-1"
    assert set(patch["metadata"]["annotations"]) == {labels.GENERATION, labels.SPEC_HASH}


def test_a_stamp_never_changes_what_the_hub_wrote():
    """Marks are added where they are missing; the hub's own annotations win."""
    work = a_job(generation=3)
    manifest = stamped(work, HUB_ID)
    assert manifest["metadata"] == work.manifest["metadata"]
    work.manifest["metadata"].pop("labels")
    assert stamped(work, HUB_ID)["metadata"]["labels"][labels.JOB_UID] == "u-1"
    assert "labels" not in work.manifest["metadata"]

"""What is decided about objects, and what is written to a member, as tables."""

import pytest

from agent.decide.decision import Seen, Trouble
from agent.decide.jobs import decide_orphan
from agent.decide.next_step import decide
from agent.objects.facts import is_unstarted
from agent.objects.manifests import job_patch, release_patch, stamped, start_patch, unstarted
from shared import labels
from tests.agent.moments import a_live_job, a_moment, settled
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

OVER = {"live": a_live_job(deleting=True), "foreground": "m-1", "podless": "m-1"}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
OBJECT = an_object(CONFIG, "o-1")
CAREFUL = an_object(CONFIG, "o-1", when_to_apply="IfNotDrifted")
NEWER = an_object(CONFIG, "o-1", generation=2)
NEWER_CAREFUL = an_object(CONFIG, "o-1", generation=2, when_to_apply="IfNotDrifted")
UNSENT = an_object(CONFIG, "o-1").model_copy(update={"manifest": None})
LIVE = {**OBJECT.manifest, "metadata": {**OBJECT.manifest["metadata"], "uid": "m-1"}}

OBJECTS = [
    ("absent", OBJECT, Seen(), {}, ("Apply", "Waiting", "Applying")),
    (
        "absent, without lease",
        OBJECT,
        Seen(),
        {"may_start": False},
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
    (
        "kind not read yet",
        OBJECT,
        Seen(),
        {"synced": False},
        ("Nothing", "Waiting", "Observing"),
    ),
    (
        "kind that may not be read",
        OBJECT,
        Seen(),
        {"synced": False, "refused": "forbidden"},
        ("Nothing", "Failed", "KindNotReadable"),
    ),
    ("without a manifest", UNSENT, Seen(), {}, ("Nothing", "Failed", "ManifestMissing")),
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
        "drifted, and put back by no write",
        OBJECT,
        Seen(
            live=LIVE, drifted=True, not_before=1030, trouble=Trouble("ApplyFailed", "immutable")
        ),
        {},
        ("Nothing", "Failed", "ApplyFailed"),
    ),
    (
        "drifted, no answer",
        OBJECT,
        Seen(live=LIVE, drifted=True, not_before=1030, trouble=Trouble("Unavailable", "timeout")),
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
    ("work", "seen", "moment", "wanted"), [c[1:] for c in OBJECTS], ids=[c[0] for c in OBJECTS]
)
def test_objects(work, seen, moment, wanted):
    """An object is kept as declared, by the user's rule where it has drifted."""
    assert settled(work, seen, **moment) == wanted


def test_what_is_created_cannot_start():
    """Suspended, in a queue that does not exist, marked, and held by us."""
    work = a_job()
    work.manifest["metadata"]["labels"][labels.QUEUE_NAME] = "main"
    made = unstarted(work, HUB_ID)
    assert is_unstarted(made)
    assert made["spec"]["suspend"] is True
    assert made["metadata"]["labels"][labels.QUEUE_NAME] == labels.NO_QUEUE
    assert made["metadata"]["finalizers"] == [labels.MEMBER_FINALIZER]


def test_a_start_names_the_object_and_gives_it_what_was_withheld():
    """One patch with the uid: unsuspended, or handed to the member's queue manager."""
    work = a_job()
    work.manifest["metadata"]["labels"][labels.QUEUE_NAME] = "main"
    work.manifest["spec"]["suspend"] = True
    patch = start_patch(work, a_live_job(waiting=True))
    assert patch["metadata"]["uid"] == "m-1"
    assert patch["metadata"]["labels"] == {labels.QUEUE_NAME: "main"}
    assert patch["spec"] == {"suspend": True}
    alone = start_patch(a_job(), a_live_job(waiting=True))
    assert alone["spec"] == {"suspend": False}
    assert alone["metadata"]["labels"] == {labels.QUEUE_NAME: None}


def test_a_release_leaves_the_finalizers_of_others():
    """It names the version that was looked at, so that none which came since is lost."""
    live = a_live_job(finalizers=["example.com/theirs", labels.MEMBER_FINALIZER])
    assert release_patch(live)["metadata"] == {
        "uid": "m-1",
        "resourceVersion": "7",
        "finalizers": ["example.com/theirs"],
    }


@pytest.mark.parametrize(
    ("seen", "do"),
    [
        (Seen(live=a_live_job()), "Nothing"),
        (Seen(live=a_live_job(), ordered="m-0"), "Nothing"),
        (Seen(live=a_live_job(), ordered="m-1"), "Delete"),
        (Seen(**OVER, ordered="m-1"), "Release"),
        (Seen(**OVER, acknowledged="m-1"), "Release"),
        (Seen(**OVER), "Nothing"),
    ],
)
def test_what_nobody_desires_goes_when_the_hub_says_so(seen, do):
    """An orphan is reported, and removed by an order for exactly this object."""
    assert decide_orphan(seen, a_moment()).do == do


def test_an_unstarted_orphan_is_not_said_to_be_applied():
    """Its work may only not be here yet: what is `Applied` counts as begun, and would never be started."""
    assert decide_orphan(Seen(live=a_live_job(waiting=True)), a_moment()).phase == "Waiting"
    assert decide_orphan(Seen(live=a_live_job()), a_moment()).phase == "Applied"


def test_a_refused_change_leaves_a_running_job_alone():
    """The Job runs on as it is; the refusal is told as a reason."""
    seen = Seen(live=a_live_job(), trouble=Trouble("Invalid", "no"), not_before=1010)
    decision = decide(a_job(generation=2), seen, a_moment())
    assert (decision.phase, decision.reason, decision.message) == (
        "Applied",
        "ChangeRefused",
        "no",
    )


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

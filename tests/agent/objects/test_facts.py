"""What is read from one object: whose, of which epoch, ended when, of which manifest."""

import pytest

from agent.objects.facts import (
    epoch_of,
    finished,
    generation_of,
    is_made_for,
    is_unstarted,
    number,
    outdated,
    owner_of,
    parse_time,
)
from agent.objects.manifests import job_patch, mutable_fields, start_patch, unstarted
from shared import labels
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID, a_job


def relabelled(**marks):
    """A Job of work u-1, epoch 1, whose labels somebody has edited."""
    live = a_live_job()
    live["metadata"]["labels"] = {labels.MANAGED_BY: HUB_ID, **marks}
    return live


def without_fence(live):
    live["spec"] = {k: v for k, v in live["spec"].items() if k != "template"}
    return live


def test_edited_labels_do_not_change_whose_a_job_is():
    """Its containers' environment, which nobody can edit, says it."""
    live = relabelled(**{labels.JOB_UID: "u-9", labels.EPOCH: "7"})
    assert (owner_of(live, HUB_ID), epoch_of(live)) == ("u-1", 1)


def test_without_an_environment_the_labels_say_it():
    """Of objects that are no Jobs, and of Jobs from before it was there."""
    live = without_fence(relabelled(**{labels.JOB_UID: "u-9", labels.EPOCH: "7"}))
    assert (owner_of(live, HUB_ID), epoch_of(live)) == ("u-9", 7)
    bare = without_fence(relabelled())
    assert (owner_of(bare, HUB_ID), epoch_of(bare)) == (None, 0)


def test_what_is_another_hubs_is_nobodys_here():
    """Whatever else it carries."""
    assert owner_of(a_live_job(), "another-hub") is None


@pytest.mark.parametrize(("held", "uid", "ours"), [(True, "u-1", True), (False, "u-1", False)])
def test_a_job_without_our_labels_is_ours_where_we_hold_it(held, uid, ours):
    """The environment goes along with every copy that people make; the managed fields do not."""
    live = a_live_job(finalizers=None if held else [])
    del live["metadata"]["labels"]
    live["metadata"]["managedFields"] = [{"manager": labels.FIELD_MANAGER, "fieldsV1": {}}]
    assert is_made_for(live, a_job(uid)) is ours
    assert not is_made_for(live, a_job("u-2"))
    live["metadata"]["managedFields"][0]["manager"] = "someone"
    assert not is_made_for(live, a_job(uid))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0", 0),
        ("9" * 18, int("9" * 18)),
        ("9" * 19, None),
        ("-1", None),
        ("", None),
        ("1.5", None),
    ],
)
def test_a_count_that_people_may_edit_is_read_with_care(text, read):
    """Up to eighteen digits."""
    assert number(text) == read


@pytest.mark.parametrize(("text", "told"), [("0", 0), ("3", 3), ("x", 7), (None, 7)])
def test_the_generation_applied_last_stands_on_the_object(text, told):
    """Zero is one; without any it is what the caller takes it for."""
    marks = {} if text is None else {labels.GENERATION: text}
    assert generation_of({"metadata": {"annotations": marks}}, 7) == told


@pytest.mark.parametrize(
    ("mark", "suspend", "waits"),
    [(True, True, True), (True, False, False), (False, True, False), (False, None, False)],
)
def test_a_job_is_unstarted_while_it_is_marked_and_suspended(mark, suspend, waits):
    """One that runs has been started, whatever mark it carries."""
    marks = {labels.NOT_STARTED: "true"} if mark else {}
    job = {"kind": "Job", "metadata": {"annotations": marks}, "spec": {"suspend": suspend}}
    assert is_unstarted(job) is waits


EARLY, LATE = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"


@pytest.mark.parametrize(
    ("kind", "status", "completed", "at"),
    [
        ("Complete", "True", EARLY, EARLY),
        ("Failed", "True", None, LATE),
        ("Complete", "False", EARLY, None),
        ("FailureTarget", "True", None, None),
        ("Suspended", "True", EARLY, None),
    ],
)
def test_a_job_ended_when_it_was_complete_or_failed(kind, status, completed, at):
    """At its completionTime; where it has none, when the condition turned True."""
    condition = {"type": kind, "status": status, "lastTransitionTime": LATE}
    job = {"status": {"conditions": [condition], "completionTime": completed}}
    assert finished(job) == parse_time(at)


def test_an_end_without_a_time_is_one_all_the_same():
    """Long ago: what is kept for some time after it is over."""
    job = {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}
    assert finished(job).year == 1
    assert parse_time("yesterday") is None


@pytest.mark.parametrize(
    ("key", "value", "is_outdated"),
    [
        (None, None, False),
        (labels.GENERATION, "2", True),
        (labels.SPEC_HASH, "other", True),
        ("example.com/note", "x", False),
    ],
)
def test_another_hash_or_generation_is_another_manifest(key, value, is_outdated):
    """Either alone: annotations change without the hash of the spec; others' notes say nothing."""
    live = a_live_job()
    marks = live["metadata"]["annotations"]
    live["metadata"]["annotations"] = marks if key is None else {**marks, key: value}
    assert outdated(a_job(), live) is is_outdated


def test_a_work_without_manifest_is_never_outdated():
    """Keep and Withdraw change nothing of the object."""
    assert not outdated(a_job(action="Keep", generation=5), a_live_job())


@pytest.mark.parametrize(
    ("spec", "also"),
    [
        ({"completionMode": "Indexed", "completions": 2, "parallelism": 2}, True),
        ({"completionMode": "Indexed", "completions": 3, "parallelism": 2}, False),
        ({"completionMode": "NonIndexed", "completions": 2, "parallelism": 2}, False),
        ({"completions": 2, "parallelism": 2}, False),
    ],
)
def test_completions_follow_the_parallelism_of_an_elastic_indexed_job(spec, also):
    """Nowhere else does its API let them change."""
    assert ("completions" in mutable_fields({"spec": spec})) is also


def test_a_change_of_an_annotation_alone_is_patched():
    """What is as declared is left out: spec, labels, and marks that others have put there."""
    newer = a_job(parallelism=2)
    newer.manifest["metadata"]["annotations"]["example.com/note"] = "new"
    live = a_live_job(parallelism=2)
    live["metadata"]["labels"]["theirs"] = "x"
    patch = {"metadata": {"uid": "m-1", "annotations": {"example.com/note": "new"}}}
    assert job_patch(newer, live) == patch


def test_a_start_brings_the_newest_marks_with_it():
    """The mark of the unstarted goes, the newer generation and hash come, in one patch."""
    marks = start_patch(a_job(generation=2), a_live_job(waiting=True))["metadata"]["annotations"]
    assert marks == {labels.NOT_STARTED: None, labels.GENERATION: "2", labels.SPEC_HASH: "h1.2"}


@pytest.mark.parametrize("mark", ["", "r:1:p"])
def test_a_job_carries_the_hubs_mark_where_there_is_one(mark):
    """Before the first reply that has one there is no annotation, not an empty one."""
    made = unstarted(a_job(), HUB_ID, mark)["metadata"]["annotations"]
    assert made.get(labels.MARK, "") == mark
    assert (labels.MARK in made) is bool(mark)

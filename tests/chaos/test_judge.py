"""The judge of the campaign: what is proved is told, what is only possible is not."""

from tests.chaos.history import load
from tests.chaos.judge import judge
from tests.chaos.recorder import sighting
from tests.chaos.stories import A, B, Story, a_job, healthy


def test_a_healthy_history_is_silent():
    """A job that was made once, ran once and is told as Succeeded breaks nothing."""
    assert healthy().invariants() == []


def test_an_attempt_that_was_taken_back_before_the_next_is_silent():
    """A pod that was deleted before the next epoch's pod started is no double run."""
    story = Story().copy("m1", "u1", gone=True).pod("m1", "p1", "u1", 11, deleting=15)
    story.copy("m2", "u2", epoch=2, made=16, complete=30).pod("m2", "p2", "u2", 17, 29)
    assert story.told("Succeeded", cluster="m2", epoch=2).invariants() == []


def test_two_pods_at_one_instant_in_two_members_are_found():
    """Pods of one job whose times certainly overlap are a double run."""
    story = Story().copy("m1", "u1", gone=True).pod("m1", "p1", "u1", 11, 25)
    story.copy("m2", "u2", epoch=2, made=16, complete=30).pod("m2", "p2", "u2", 17, 29)
    assert story.told("Succeeded", cluster="m2", epoch=2).invariants() == ["R-04"]


def test_times_within_one_second_prove_no_overlap():
    """An end and a start stamped with the same second are no proof."""
    story = Story().copy("m1", "u1", gone=True).pod("m1", "p1", "u1", 11, 17)
    story.copy("m2", "u2", epoch=2, made=16, complete=30).pod("m2", "p2", "u2", 17, 29)
    assert story.told("Succeeded", cluster="m2", epoch=2).invariants() == []


def test_two_pods_that_never_end_run_at_once():
    """Pods in two members without an end are a double run."""
    story = Story().copy("m1", "u1").pod("m1", "p1", "u1", 11)
    story.copy("m2", "u2", epoch=2, made=16).pod("m2", "p2", "u2", 17)
    assert "R-04" in story.told("Running", cluster="m2", epoch=2).invariants()


def test_a_completeda_job_that_starts_again_is_found():
    """A Complete of an earlier epoch and a pod of a later one: executed twice."""
    story = healthy().copy("m2", "u2", epoch=2, made=40, complete=50).pod("m2", "p2", "u2", 41, 49)
    assert story.told("Succeeded", cluster="m2", epoch=2).invariants() == ["R-04"]


def test_a_second_object_that_starts_nothing_is_silent():
    """A later copy without a started pod, gone again, executed nothing."""
    story = healthy().copy("m2", "u2", epoch=2, made=40, gone=True)
    assert story.invariants() == []


def test_two_started_objects_of_one_epoch_are_found():
    """One epoch starts one object: a second one that starts pods is found."""
    story = Story().copy("m1", "u1", gone=True).pod("m1", "p1", "u1", 11, 12)
    story.copy("m1", "u2", made=20, complete=30).pod("m1", "p2", "u2", 21, 29)
    assert story.invariants() == ["R-04"]


def test_a_start_in_an_epoch_that_was_given_up_is_found():
    """An object of a lower epoch, made after one of a higher epoch, starts nothing any more."""
    story = Story().copy("m1", "u1", epoch=2, made=16, complete=30).pod("m1", "p1", "u1", 17, 29)
    story.copy("m2", "u2", epoch=1, made=40, gone=True)
    assert story.told("Succeeded", epoch=2).invariants() == []
    story.pod("m2", "p2", "u2", 41, deleting=42)
    assert story.invariants() == ["R-06"]


def test_an_acknowledgeda_job_that_is_not_there_is_found():
    """What was acknowledged and not deleted is known to the hub."""
    story = healthy()
    story.ledger.acknowledged[B] = "b"
    assert story.invariants() == ["R-01"]
    story.ledger.deleted.add(B)
    assert story.invariants() == []


def test_aa_job_that_does_not_end_is_found():
    """After everything healed no job is left waiting."""
    assert Story().told("Unknown", reason="ClusterUnreachable").invariants() == ["R-01"]


def test_a_result_that_the_hub_tells_otherwise_is_found():
    """A job that completed in a member is Succeeded, whoever cancelled it meanwhile."""
    assert healthy().told("Cancelled").invariants() == ["R-07"]


def test_of_a_deleteda_job_nobody_asks_the_result():
    """What its user deleted may be told as it likes."""
    story = healthy().told("Cancelled")
    story.ledger.deleted.add(A)
    assert story.invariants() == []


def test_a_success_that_no_member_showed_is_found_unless_sightings_are_missing():
    """Succeeded without a Complete is made up; where the watch lost events it proves nothing."""
    story = Story()
    assert story.invariants() == ["R-07"]
    story.gaps.append("m1/Job")
    assert story.invariants() == []


def test_a_failure_without_cause_is_found():
    """Failed needs a failed Job or a deletion by hand."""
    story = Story().copy("m1", "u1", gone=True).told("Failed", reason="DeletedInMember")
    assert story.invariants() == ["R-07"]
    story.ledger.by_hand.add("m1/u1")
    assert story.invariants() == []


def test_a_seconda_job_of_one_submission_is_found():
    """A key answered with two uids, and a job that nobody submitted, are twins."""
    story = healthy()
    story.ledger.changed_uids.append({"name": "a", "first": A, "second": B})
    story.jobs.append(a_job(B, "Succeeded", "m1", 1))
    story.gaps.append("m1/Job")
    assert [each.invariant for each in judge(story.history())] == ["R-02", "R-02"]


def test_what_is_left_behind_is_found():
    """An unfinished Job of ours in a member that the hub does not want there is an orphan."""
    story = healthy().copy("m2", "u2", epoch=1)
    assert story.invariants() == ["R-12"]


def test_a_touched_stranger_is_found():
    """A Job that is not ours is neither deleted nor marked as ours."""
    story = healthy().copy("m2", "s1", owner="")
    story.ledger.strangers.add("m2/s1")
    assert story.invariants() == []
    story.copy("m2", "s1", owner="", gone=True)
    assert story.invariants() == ["R-11"]


def test_quota_left_charged_is_found():
    """When every job has ended nothing is charged."""
    story = healthy()
    story.charged = {"tight/cpu": 2}
    assert story.invariants() == ["R-09"]


def test_more_running_than_quota_allows_is_found():
    """Cores that certainly ran at one instant stay within the quota of their queue."""
    story = healthy().pod("m1", "p2", "u1", 11, 19, cpu=2)
    story.ledger.tight.add("a")
    story.quota = 3
    assert story.invariants() == []
    story.quota = 2
    assert story.invariants() == ["R-09"]


def test_a_saved_history_is_judged_alike(tmp_path):
    """A trace that was kept gives the same verdict again."""
    history = healthy().told("Cancelled").history()
    history.save(tmp_path)
    assert load(tmp_path) == history
    assert judge(load(tmp_path)) == judge(history)


def test_a_pods_deletion_counts_from_when_it_was_asked_for():
    """The stamp of a deletion lies a grace period ahead: a pod may end at once."""
    meta = {
        "uid": "p", "name": "p", "creationTimestamp": "2026-01-31T12:00:00Z",
        "deletionTimestamp": "2026-01-31T12:00:40Z", "deletionGracePeriodSeconds": 30,
    }  # fmt: skip
    pod = {"metadata": meta, "spec": {"containers": []}}
    seen = sighting(0.0, "m1", "Pod", "MODIFIED", pod)
    assert seen.deleting - seen.created == 10


def test_a_pod_that_was_deleted_before_it_began_has_not_started():
    """Terminated with equal stamps and never seen Running: its container did not run."""
    at = "2026-01-31T12:00:00Z"
    over = {"state": {"terminated": {"startedAt": at, "finishedAt": at}}}
    meta = {"uid": "p", "name": "p", "creationTimestamp": at}

    def seen(phase, *statuses):
        status = {"phase": phase, "containerStatuses": list(statuses)}
        pod = {"metadata": meta, "spec": {"containers": []}, "status": status}
        return sighting(0.0, "m1", "Pod", "MODIFIED", pod).started

    assert not seen("Failed", over)
    assert seen("Succeeded", over)
    assert seen("Running", {"state": {"running": {"startedAt": at}}})

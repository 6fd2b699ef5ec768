"""The judge about administrators: queues, placements, and a backup that was restored."""

import pytest

from tests.chaos.history import Restore, Window
from tests.chaos.stories import A, Story, healthy

KEPT = {"m1/k0": {"uid": "k", "ours": True, "data": {"of": "hub"}}}
THEIRS = {"m1/c0": {"uid": "c", "ours": False, "data": {"of": "people"}}}


def event(reason, at, *, epoch=1, cause=""):
    """An event of job a."""
    return {"at": at, "uid": A, "name": "a", "reason": reason, "cause": cause, "epoch": epoch}


def placed(at, what, since, until=0.0, *, cores=4.0, adopted=False):
    """Job a of the tight queue, placed at an instant; the window of one acknowledged change."""
    story = healthy()
    story.ledger.tight = {"a"}
    story.ledger.windows = [Window(what=what, since=since, until=until, cores=cores)]
    story.events = [event("Placed", at), *([event("Adopted", at)] if adopted else [])]
    return story


def restored(*, state="Held", cluster=None, backup=5.0, stopped=30.0, up=35.0):
    """Job a as a restored hub knew it; state "": it did not."""
    story = Story()
    known = {A: {"state": state, "cluster": cluster, "epoch": 1}} if state else {}
    story.ledger.restores = [
        Restore(backup=backup, stopped=stopped, up=up, accepted=up, jobs=known)
    ]
    return story


def with_maps(**maps):
    """A history with placements, and the ConfigMaps in the end."""
    story = healthy()
    story.ledger.keeps, story.ledger.maps = True, {"m1/c0": "c"}
    story.maps = {**KEPT, **THEIRS, **maps}
    return story


# --- queues ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["stopped", "deleted"])
def test_a_job_that_is_placed_after_its_queue_was_stopped_is_found(what):
    """The change was acknowledged before the transaction that placed the job began."""
    assert placed(12.5, what, 12.4).invariants() == ["R-23"]


def test_a_job_that_was_placed_before_the_acknowledgement_is_silent():
    """Its transaction may have been the earlier one."""
    assert placed(12.4, "stopped", 12.5).invariants() == []


def test_a_job_that_is_placed_once_the_queue_may_admit_again_is_silent():
    """From the instant of the request that resumes it."""
    assert placed(14.0, "stopped", 12.5, 13.0).invariants() == []


def test_a_job_that_is_adopted_is_placed_by_nobody():
    """It runs already, whatever its queue says."""
    assert placed(12.5, "stopped", 12.4, adopted=True).invariants() == []


def test_what_is_placed_beyond_a_smaller_quota_is_found():
    """More cores run than were allowed when the job was placed; before, more were."""
    story = placed(10.5, "resized", 10.4, cores=0.5)
    story.quota = 4.0
    assert story.invariants() == ["R-23"]
    story.events = [event("Placed", 10.0)]
    assert story.invariants() == []


# --- placements --------------------------------------------------------------------------------------


def test_a_job_of_a_queue_that_a_placement_takes_back_is_found():
    """A placement withdraws what it placed, and no placement selects that queue."""
    story = healthy()
    story.events = [event("Withdrawing", 15.0, cause="PlacementDeleted")]
    assert story.invariants() == ["R-24"]
    story.ledger.steered = {"a"}
    assert story.invariants() == []


def test_what_is_left_of_a_removed_placement_is_found():
    """The placement that stays has its ConfigMap there, and no other is."""
    assert with_maps().invariants() == []
    left = {"m2/c1": {"uid": "x", "ours": True, "data": {}, "created": 20.0}}
    assert with_maps(**left).invariants() == ["R-12"]


@pytest.mark.parametrize(("created", "found"), [(20.0, []), (42.0, []), (44.0, ["R-12"])])
def test_what_was_placed_in_the_lost_time_is_left_alone(created, found):
    """An administrator decides about it. An agent acts for a lease longer on what it was told."""
    story = with_maps(**{"m2/c1": {"uid": "x", "ours": True, "data": {}, "created": created}})
    story.ledger.restores = restored().ledger.restores
    assert story.invariants() == found


def test_a_missing_object_of_a_placement_that_stands_is_found():
    """It was acknowledged, and everything works again."""
    story = with_maps()
    del story.maps["m1/k0"]
    assert story.invariants() == ["R-12"]


@pytest.mark.parametrize("change", [{"uid": "new"}, {"ours": True}, {"data": {"of": "hub"}}])
def test_somebody_elses_config_map_that_was_touched_is_found(change):
    """Made again, marked as ours, or overwritten."""
    assert with_maps(**{"m1/c0": {**THEIRS["m1/c0"], **change}}).invariants() == ["R-11"]


def test_a_config_map_that_a_placement_may_take_over_may_change():
    """Its people consent to it; it is still never deleted."""
    story = with_maps(**{"m1/c0": {**THEIRS["m1/c0"], "data": {"of": "hub"}}})
    story.ledger.seized = True
    assert story.invariants() == []


# --- a restored backup -------------------------------------------------------------------------------


def test_a_job_of_the_lost_time_need_not_be_known():
    """It was acknowledged after the backup; any other that the hub does not know is found."""
    story = restored(state="").told("Succeeded")
    story.jobs = []
    assert story.invariants() == ["R-01"]
    story.ledger.lost = {A}
    assert story.invariants() == []


def test_a_completion_that_no_member_has_any_more_is_not_known_to_a_restored_hub():
    """The Job was deleted before the next epoch was made: a release runs the job again."""
    story = restored().copy("m1", "u1", complete=20, gone=True, deleting=40)
    story.pod("m1", "p1", "u1", 11, 19)
    story.copy("m2", "u2", epoch=9, made=50, complete=60).pod("m2", "p2", "u2", 51, 59)
    assert story.told("Succeeded", cluster="m2", epoch=9).invariants() == []


def test_a_job_that_runs_again_while_its_completed_job_is_there_is_found():
    """The member would have reported it."""
    story = restored().copy("m1", "u1", complete=20).pod("m1", "p1", "u1", 11, 19)
    story.copy("m2", "u2", epoch=9, made=50, complete=60).pod("m2", "p2", "u2", 51, 59)
    assert story.told("Succeeded", cluster="m2", epoch=9).invariants() == ["R-04"]


def test_a_job_that_still_runs_from_the_lost_time_is_not_released():
    """Two at once are two at once, whatever the restored hub knows."""
    story = restored().copy("m1", "u1", complete=70).pod("m1", "p1", "u1", 11, 69)
    story.copy("m2", "u2", epoch=9, made=50, complete=60).pod("m2", "p2", "u2", 51, 59)
    assert story.told("Succeeded", cluster="m2", epoch=9).invariants() == ["R-04"]


@pytest.mark.parametrize(("state", "found"), [("Held", []), ("Running", ["R-07"])])
def test_a_completion_binds_the_hub_that_knew_where_the_job_was(state, found):
    """Of one that it held it learns only by a person."""
    cluster = "m1" if state == "Running" else None
    story = restored(state=state, cluster=cluster).copy("m1", "u1", complete=40)
    story.pod("m1", "p1", "u1", 11, 39)
    assert story.told("Cancelled").invariants() == found


def test_an_end_that_the_lost_hub_was_told_of_may_be_gone_with_its_job():
    """Until the database is accepted agents carry out orders of the lost time."""
    story = restored(state="Withdrawing", cluster="m1")
    story.copy("m1", "u1", complete=20, gone=True, deleting=21).pod("m1", "p1", "u1", 11, 19)
    assert story.told("Cancelled").invariants() == []


def test_what_the_hub_can_not_know_is_not_charged():
    """Beside jobs of the lost time those run that were released since."""
    story = restored().copy("m1", "u1").pod("m1", "p1", "u1", 11, cpu=3)
    story.ledger.tight, story.quota = {"a"}, 2
    assert "R-09" not in story.invariants()
    story.ledger.restores = []
    assert "R-09" in story.invariants()

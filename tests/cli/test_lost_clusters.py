"""What `jobs show` and `explain` say of a job whose cluster is lost."""

from roadstead.cli.lost_clusters import lines
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster

HEARD = "2026-05-01T08:00:00Z"


def test_a_job_that_waits_says_since_when_and_what_may_become_of_it():
    """One line for the cluster, with what the job asks for, and one for each choice."""
    loss = LostCluster.of(
        {
            "cluster": "north",
            "policy": "RescheduleAfter(5m)",
            "heardAt": HEARD,
            "movesNotBefore": "2026-05-01T08:05:00Z",
            "choices": ["it starts elsewhere not before 08:05", "cancel it"],
        }
    )
    first, *choices = lines(loss, ())
    assert first.startswith("  north had its last contact 2026-05-01")
    assert first.endswith("(RescheduleAfter(5m))")
    assert choices == ["    - it starts elsewhere not before 08:05", "    - cancel it"]


def test_what_was_left_behind_is_named_until_it_is_gone():
    """With what is known of it: whether it ran beside the newer one, and how many pods it had."""
    told = {"cluster": "north", "epoch": 1, "overlapped": True, "active": 2, "said": "Applied"}
    text = " ".join(" ".join(lines(None, [EarlierEpoch.of(told)])).split())
    assert "epoch 1 was left behind in north, which is to withdraw it" in text
    assert "ran beside a later one; 2 pods when last seen" in text
    quiet = EarlierEpoch.of({**told, "overlapped": False, "active": 0})
    assert lines(None, [quiet]) == ["  epoch 1 was left behind in north, which is to withdraw it"]
    assert lines(None, ()) == []

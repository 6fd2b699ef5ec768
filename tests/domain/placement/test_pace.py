"""How fast members start what they are given: measured while they have enough to do, and forgotten."""

import datetime as dt

from hub.domain.fleet.create_window import CreateAnswers
from hub.domain.placement.scoring.pace import Paces, Starts
from tests.domain.build import NOW


def at(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


def given(paces: Paces, member: str, count: int, seconds: float = 0.0, first: int = 0) -> None:
    paces.now = at(seconds)
    for number in range(first, first + count):
        paces.follow(f"{member}-{number}", member, "Placed")


def started(paces: Paces, member: str, count: int, seconds: float, first: int = 0) -> None:
    paces.now = at(seconds)
    for number in range(first, first + count):
        paces.follow(f"{member}-{number}", member, "Running")


def test_the_pace_is_starts_per_second() -> None:
    """Forty of a hundred started within twenty seconds: two a second."""
    paces = Paces()
    given(paces, "m", 100)
    for second in range(1, 21):
        started(paces, "m", 2, second, first=2 * (second - 1))
    found = paces.starts(at(20))["m"]
    assert (found.pending, found.running) == (60, 40)
    assert found.pace is not None
    assert 1.8 < found.pace < 2.3


def test_a_start_counts_while_just_enough_is_owed() -> None:
    """A member that always owes ten, and starts one of them a second, starts one a second."""
    paces = Paces()
    given(paces, "m", 10)
    for second in range(1, 21):
        started(paces, "m", 1, second, first=second - 1)
        given(paces, "m", 1, second, first=second + 9)
    found = paces.starts(at(20))["m"]
    assert found.pending == 10
    assert found.pace is not None
    assert 0.9 < found.pace < 1.2


def test_a_member_that_starts_nothing_is_slow() -> None:
    """A hundred owed and none started for a minute: less than one start in thirty seconds."""
    paces = Paces()
    given(paces, "m", 100)
    pace = paces.starts(at(60))["m"].pace
    assert pace is not None
    assert pace < 1 / 30


def test_with_little_to_do_nothing_is_concluded() -> None:
    """Nine owed for a minute tell how little was given, not how much could be done."""
    paces = Paces()
    given(paces, "m", 9)
    assert paces.starts(at(60))["m"] == Starts(pending=9, unapplied=9)


def test_what_was_measured_is_forgotten() -> None:
    """A member that was slow is tried again once it has had nothing to do for a while."""
    paces = Paces()
    given(paces, "m", 20)
    started(paces, "m", 20, 40)
    assert paces.starts(at(40))["m"].pace is not None
    assert paces.starts(at(1000))["m"] == Starts(running=20)


def test_what_ends_or_is_taken_back_is_owed_no_more() -> None:
    """Ended, withdrawn, moved elsewhere: none of it is pending or running there."""
    paces = Paces()
    given(paces, "m", 4)
    paces.follow("m-0", "m", "Succeeded")
    paces.follow("m-1", "m", "Withdrawing")
    paces.follow("m-2", "other", "Placed")
    paces.drop("m-3")
    assert paces.starts(at(1)) == {"m": Starts(), "other": Starts(pending=1, unapplied=1)}


def test_of_an_unknown_state_nothing_is_concluded() -> None:
    """A job whose member is unreachable stays what it was."""
    paces = Paces()
    given(paces, "m", 1)
    started(paces, "m", 1, 1)
    paces.follow("m-0", "m", "Unknown")
    assert paces.starts(at(2))["m"].running == 1


def test_what_is_not_created_yet_counts_until_the_member_shows_it():
    """Placed and Offered are on their way; Applied, withdrawn and moved jobs are not."""
    paces = Paces()
    paces.now = at(0)
    for uid in ("a", "b", "c", "d"):
        paces.follow(uid, "m", "Placed")
    paces.follow("a", "m", "Offered")
    paces.follow("b", "m", "Applied")
    paces.follow("c", "other", "Offered")
    paces.follow("d", "m", "Withdrawing")
    told = paces.starts(at(1))
    assert (told["m"].unapplied, told["other"].unapplied) == (1, 1)
    paces.drop("a")
    assert paces.starts(at(1))["m"].unapplied == 0


def test_a_member_reopens_when_its_window_has_room_again():
    """Asked once: who waited for it is woken once."""
    paces = Paces()
    paces.now = at(0)
    for n in range(8):
        paces.follow(f"u-{n}", "m", "Offered")
    paces.report("m", CreateAnswers(1, 0, 1))
    assert paces.starts(at(1))["m"].is_full
    assert not paces.reopened()
    for n in range(5):
        paces.follow(f"u-{n}", "m", "Applied")
    assert not paces.starts(at(1))["m"].is_full
    assert paces.reopened()
    assert not paces.reopened()

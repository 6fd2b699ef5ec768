"""How fast members start what they are given: measured while they have enough to do, and forgotten."""

import datetime as dt

from hub.domain.fleet.create_window import CreateAnswers
from hub.domain.placement.scoring.pace import OpenWindows, Paces, Starts
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


def overloaded(paces: Paces, member: str, period: int = 1) -> None:
    """The member's agent reported a period in which creates were late."""
    paces.report(member, CreateAnswers(period, answered=0, overloaded=3))


def test_an_open_window_counts_what_decisions_take() -> None:
    """A member without a window takes any number; one with a window as many as it leaves."""
    windows = OpenWindows(
        {"m": Starts(unapplied=2, window=4), "full": Starts(unapplied=9, window=4), "n": Starts()}
    )
    assert (windows.left("m"), windows.left("full"), windows.left("n")) == (2, 0, None)
    assert [windows.take("m") for _ in range(3)] == [True, True, False]
    assert [windows.is_open(name) for name in ("m", "full", "n")] == [False, False, True]
    assert "9 jobs sent to it are not created there yet, and it may have 4" in (
        windows.why_closed("full")
    )
    assert (windows.limited, OpenWindows({"n": Starts()}).limited) == (True, False)
    assert not windows.take("full")
    assert all(windows.take("n") for _ in range(9))


def test_a_start_is_full_by_its_window() -> None:
    """Without a window it never is."""
    assert Starts(unapplied=4, window=4).is_full
    assert not Starts(unapplied=3, window=4).is_full
    assert not Starts(unapplied=99).is_full


def test_a_full_window_reopens_as_jobs_are_created() -> None:
    """Twenty on their way, a window of ten: it reopens once nine are left, and says so once."""
    paces = Paces()
    given(paces, "m", 20)
    overloaded(paces, "m")
    assert paces.starts(at(0))["m"].window == 10
    assert not paces.reopened()
    for number in range(11):
        paces.follow(f"m-{number}", "m", "Applied")
    assert (paces.reopened(), paces.reopened()) == (True, False)


def test_a_window_that_fills_up_is_full_until_a_job_goes_elsewhere() -> None:
    """One that moves to another member is on its way to that one."""
    paces = Paces()
    given(paces, "m", 8)
    overloaded(paces, "m")
    paces.follow("m-0", "n", "Placed")
    found = paces.starts(at(0))
    assert (found["m"].unapplied, found["n"].unapplied) == (7, 1)


def test_a_member_that_is_gone_has_no_window() -> None:
    """Nor has one whose agent reports no overload."""
    for end in (lambda paces: paces.forget("m"), lambda paces: paces.report("m", None)):
        paces = Paces()
        given(paces, "m", 20)
        overloaded(paces, "m")
        end(paces)
        assert paces.starts(at(0))["m"].window is None


def test_a_job_that_was_dropped_is_on_no_member() -> None:
    """It counts neither as owed nor as on its way."""
    paces = Paces()
    given(paces, "m", 3)
    paces.drop("m-0")
    paces.drop("m-0")
    found = paces.starts(at(0))["m"]
    assert (found.pending, found.unapplied) == (2, 2)


def test_a_job_that_is_seen_running_first_runs_there() -> None:
    """A hub that begins to lead knows no start of it."""
    paces = Paces()
    paces.now = at(0)
    paces.follow("late", "m", "Running")
    paces.follow("late", "m", "Unknown")
    assert paces.starts(at(0))["m"].running == 1
    paces.follow("late", "m", "Succeeded")
    assert paces.starts(at(0))["m"].running == 0

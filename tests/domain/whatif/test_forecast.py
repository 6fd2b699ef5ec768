"""When a waiting workload will be admitted: known ends played forward through the cycle itself."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Nomination, Snapshot
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.usage_history import Ranks, UsageHistory
from hub.domain.whatif.forecast import STEPS, TOO_MUCH, Forecast, Runtimes, forecast
from tests.domain.build import NOW, a_cluster, a_demand, a_lane, a_pod_set, a_pool, a_queue
from tests.domain.whatif.pictures import LOWER, PRESENT, SECOND, a_holder, a_picture

TWO = a_demand(a_pod_set(requests={"cpu": 2}))
NOTHING = "no other known end would free enough for it"


def after(seconds: int) -> int:
    return PRESENT + seconds * SECOND


def at(seconds: int) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


def told(picture: Snapshot, uid: str = "w", **given: Any) -> Forecast:
    """`ends` and `lasting` in microseconds; `rules` of the profile."""
    runtimes = Runtimes(given.pop("ends", {}), given.pop("lasting", {}))
    profile = Profile(rules=given.pop("rules", Rules()))
    return forecast(picture, uid, runtimes, NOW, profile, **given)


def waits(*uids: str, **given: Any) -> Lane:
    """For two cpu."""
    return a_lane(replace(TWO, **given), *(uids or ("w",)))


def test_what_fits_is_admitted_now() -> None:
    """It rests on nothing."""
    assert told(a_picture(lanes=[waits()])) == Forecast(NOW)


def test_it_waits_for_the_end_that_frees_enough() -> None:
    """Ends before that are named too, in order of time; those after it are not."""
    holders = [a_holder("a", 1), a_holder("b", 1), a_holder("c", 2)]
    ends = {"c": after(30), "a": after(20), "b": after(10)}
    answer = told(a_picture(holders, lanes=[waits()]), ends=ends)
    assert answer == Forecast(at(20), ends=("b", "a"))


def test_ends_at_one_instant_are_taken_together() -> None:
    """One look at the queues after both, though one would do; who is no holder ends nothing."""
    holders = [a_holder("a", 2), a_holder("b", 2)]
    ends = {"b": after(5), "a": after(5), "x": after(5), "y": after(1)}
    answer = told(a_picture(holders, lanes=[waits()]), ends=ends)
    assert answer == Forecast(at(5), ends=("a", "b"))


@pytest.mark.parametrize("end", [PRESENT - 1, PRESENT])
def test_an_end_that_is_past_is_not_known(end: int) -> None:
    """Who should have ended by now, and has not, ends at no known instant."""
    answer = told(a_picture([a_holder("a", 4)], lanes=[waits()]), ends={"a": end})
    assert answer == Forecast(None, NOTHING, not_before=NOW)


def test_how_far_was_looked() -> None:
    """Up to the last known end, which does not suffice."""
    holders = [a_holder("a", 1), a_holder("b", 3)]
    answer = told(a_picture(holders, lanes=[waits()]), ends={"a": after(7)})
    assert answer == Forecast(None, NOTHING, ends=("a",), not_before=at(7))


def test_who_goes_before_it_runs_for_as_long_as_is_known() -> None:
    """They are admitted first, and their own ends are waited for; they are counted."""
    lanes = [waits("first", "second", "w")]
    runs = {"first": 10 * SECOND, "second": 20 * SECOND}
    answer = told(a_picture(lanes=lanes), lasting=runs)
    assert answer == Forecast(at(10), ends=("first",), admitted=2)
    unknown = told(a_picture(lanes=lanes))
    assert unknown == Forecast(None, NOTHING, admitted=2, not_before=NOW)


def test_of_a_class_that_is_not_told_in_full_nothing_is_known_once_it_has_gone() -> None:
    """Others of it might still go before."""
    first = waits("first", key="many", priority=1)
    picture = a_picture(lanes=[first, waits("w", key="w")])
    assert told(picture, short=["many"]).at == NOW
    full = a_picture([a_holder("a", 2)], lanes=[first, waits("w", key="w")])
    ends = {"a": after(5)}
    assert told(full, ends=ends).at == at(5)
    assert told(full, ends=ends, short=["many"]) == Forecast(
        None, TOO_MUCH, admitted=1, not_before=NOW
    )
    assert told(full, ends=ends, short=["other"]).at == at(5)


def test_when_time_runs_out_there_is_no_answer() -> None:
    """Neither where it may not go on, nor after so many instants."""
    picture = a_picture([a_holder("a", 4)], lanes=[waits()])
    assert told(picture, ends={"a": after(1)}, may_go_on=lambda: False) == Forecast(
        None, TOO_MUCH, not_before=NOW
    )
    many = [a_holder(f"h{n}", usage={}) for n in range(STEPS)]
    ends = {f"h{n}": after(n + 1) for n in range(STEPS)}
    answer = told(a_picture([*many, a_holder("a", 4)], lanes=[waits()]), ends=ends)
    assert (answer.at, answer.why) == (None, TOO_MUCH)
    assert answer.not_before == at(STEPS)


def test_who_is_preempted_leaves_at_once() -> None:
    """It is named, and does not come back."""
    picture = a_picture([a_holder("low", 4, priority=-1)], lanes=[waits()], policies={"q": LOWER})
    assert told(picture) == Forecast(NOW, preempted=("low",))


def test_who_was_told_to_go_is_gone() -> None:
    """An evicted holder holds nothing in the play, and nobody waits for it."""
    assert told(a_picture([a_holder("a", 4, evicted=True)], lanes=[waits()])) == Forecast(NOW)


def test_a_minimum_runtime_is_over_as_time_goes_on() -> None:
    """At the end of another one the victim has run for long enough."""
    young = a_holder("young", 2, priority=-1, started_at=after(-1))
    picture = a_picture(
        [young, a_holder("a", 1), a_holder("b", 1)], lanes=[waits()], policies={"q": LOWER}
    )
    rules = Rules(limits=PreemptionLimits(minimum_runtime=10 * SECOND))
    early = told(picture, ends={"a": after(8)}, rules=rules)
    late = told(picture, ends={"a": after(9)}, rules=rules)
    assert (early.at, late.at, late.preempted) == (None, at(9), ("young",))


def test_room_is_waited_for_as_quota_is() -> None:
    """Quota would do; it is the end on its cluster that counts, and silence meanwhile does not."""
    clusters = [a_cluster(a_pool(cpu=2), name="m")]
    holders = [a_holder("h", 2, cluster="m"), a_holder("other", 1)]
    picture = a_picture(holders, a_queue(cpu=99), clusters=clusters, lanes=[waits()])
    answer = told(picture, ends={"other": after(5), "h": after(3600)})
    assert answer == Forecast(at(3600), ends=("other", "h"))


def test_a_cluster_never_heard_of_stays_so() -> None:
    """Nothing is known to end that would bring it."""
    clusters = [a_cluster(a_pool(cpu=2), heartbeat_at=None)]
    assert told(a_picture(clusters=clusters, lanes=[waits()])).why == NOTHING


def test_one_that_was_promised_a_cluster_goes_there_once_its_victims_are_gone() -> None:
    """Its claim ends when it is admitted: the next one gets what it leaves."""
    clusters = [a_cluster(a_pool(cpu=2), name="m")]
    leaving = a_holder("leaving", 2, cluster="m", evicted=True)
    picture = a_picture(
        [leaving], a_queue(cpu=99), clusters=clusters, lanes=[waits("n", priority=1), waits("w")],
        nominations={"n": Nomination("m", leaving.pods, (leaving,))}, policies={"q": LOWER},
    )  # fmt: skip
    assert told(picture, "n").at == NOW
    assert told(picture, lasting={"n": 60 * SECOND}).at == at(60)


def test_history_counts_what_is_admitted_in_the_play() -> None:
    """Of two LocalQueues alike the one of whom somebody was admitted goes second."""
    doors = {"a": ("a1", "a2"), "b": ("b1",)}
    lanes = [
        Lane(
            replace(TWO, key=door),
            [Entry(n, uid, 0, 1, 1, "ns", door) for n, uid in enumerate(of)],
        )
        for door, of in doors.items()
    ]
    ranks = Ranks(UsageHistory(3600.0), {}, {"ns/a": 1.0, "ns/b": 1.0})
    picture = a_picture(
        [a_holder("h", 2)], lanes=lanes, ranks=ranks,
        policies={"q": QueuePolicy(by_usage=True)},
    )  # fmt: skip
    runs = {"a1": 60 * SECOND, "b1": 60 * SECOND}
    assert told(picture, "b1", lasting=runs).at == at(60)
    assert told(picture, "a2", lasting=runs) == Forecast(at(120), ends=("a1", "b1"), admitted=2)
    assert ranks.values == {"ns/a": 0.0, "ns/b": 0.0}


def test_the_picture_stays_as_it_is() -> None:
    """What is played is played on copies."""
    holder = a_holder("a", 4, cluster="c")
    picture = a_picture([holder], lanes=[waits()])
    left = picture.room.left.copy()
    told(picture, ends={"a": after(1)})
    assert picture.holders == {"q": {"a": holder}}
    assert (picture.room.left == left).all()
    (_, (lane,)) = picture.queues[0]
    assert len(lane.entries) == 1

"""Who waits where: positions, parking, and what wakes whom."""

import datetime as dt
import functools

from hypothesis import given, strategies as st

from hub.domain.plan import Reason, Refusal, Shortage
from hub.domain.queueing.lanes import Entry
from hub.domain.queueing.pending import Waiting
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.ledger import Ledger
from tests.domain.build import NOW, a_demand, a_pod_set, a_queue

SMALL = a_demand()
BIG = a_demand(a_pod_set(requests={"cpu": 8}))
URGENT = a_demand(priority=5)


def waiting(**entries: tuple[object, int]) -> Waiting:
    found = Waiting()
    for uid, (demand, at) in entries.items():
        found.add(demand, Entry(at, uid, 0))  # type: ignore[arg-type]
    return found


def refused(demand: object, reason: Reason, **given: object) -> Refusal:
    return Refusal(demand.key, demand.queue, reason, "", **given)  # type: ignore[attr-defined, arg-type]


def movable(found: Waiting, *, strict: bool = False) -> list[str]:
    lanes = found.movable(a_queue(strict=strict), 100)
    return sorted(entry.uid for lane in lanes for entry in lane.entries)


def test_positions_count_priority_then_age_over_all_lanes() -> None:
    """A place in the queue is 1 plus all that go before, of whatever class."""
    found = waiting(a=(SMALL, 1), b=(BIG, 2), c=(SMALL, 3), d=(URGENT, 4))
    assert [found.position(u) for u in "dabc"] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_other_queues_count_only_overall() -> None:
    """The place in the own queue and the place among all are two numbers."""
    other = a_demand(queue="r")
    found = waiting(a=(other, 1), b=(SMALL, 2))
    assert found.position("b") == (1, 2)


def test_a_parked_class_is_passed_in_best_effort() -> None:
    """What was refused is not looked at again until it is woken."""
    found = waiting(big=(BIG, 1), small=(SMALL, 2))
    found.park([refused(BIG, Reason.NO_CLUSTER_FITS)])
    assert movable(found) == ["small"]
    found.wake()
    assert movable(found) == ["big", "small"]


def test_a_parked_head_blocks_a_strict_queue_until_an_urgent_one_comes() -> None:
    """Nobody passes the head; one of higher priority becomes the head."""
    found = waiting(big=(BIG, 1), small=(SMALL, 2))
    found.park([refused(BIG, Reason.NO_CLUSTER_FITS), refused(SMALL, Reason.BEHIND_HEAD)])
    assert movable(found, strict=True) == []
    found.add(URGENT, Entry(3, "urgent", 0))
    assert movable(found, strict=True) == ["big", "small", "urgent"]


def test_released_quota_wakes_those_whom_it_suffices() -> None:
    """A class that misses more than was released stays parked."""
    of = FlavorResource("any", "cpu")
    found = waiting(big=(BIG, 1), small=(SMALL, 2))
    found.park(
        [
            refused(BIG, Reason.WAITING_FOR_QUOTA, shortages=(Shortage(of, 8000, 9000, 9000),)),
            refused(SMALL, Reason.WAITING_FOR_QUOTA, shortages=(Shortage(of, 1000, 9000, 9000),)),
        ]
    )
    ledger = Ledger([a_queue(cpu=9)], {"q": {of: 7000}})
    found.wake_for_quota("q", ledger)
    assert movable(found) == ["small"]


def test_grown_room_wakes_those_who_could_use_it() -> None:
    """A best node of 4 cpu is nothing to a pod of 8, nor to one that waits for quota."""
    quota = a_demand(a_pod_set(name="quota"))
    found = waiting(big=(BIG, 1), small=(SMALL, 2), quota=(quota, 3))
    found.park(
        [
            refused(BIG, Reason.NO_CLUSTER_FITS),
            refused(SMALL, Reason.NO_CLUSTER_FITS),
            refused(quota, Reason.WAITING_FOR_QUOTA),
        ]
    )
    found.wake_for_room({"cpu": 4000}, {"cpu": 9000})
    assert movable(found) == ["small"]


def test_room_that_just_suffices_wakes() -> None:
    """A pod of 1 cpu is looked at again when the best node, and all that is left, are 1 cpu."""
    found = waiting(small=(SMALL, 1))
    found.park([refused(SMALL, Reason.NO_CLUSTER_FITS)])
    found.wake_for_room({"cpu": 1000}, {"cpu": 1000})
    assert movable(found) == ["small"]


def test_time_wakes_those_with_a_cluster_set_aside() -> None:
    """When the back-off has run out the class is looked at again."""
    found = waiting(a=(SMALL, 1))
    found.park([refused(SMALL, Reason.NO_CLUSTER_MATCHES, retry_at=NOW)])
    found.wake_due(NOW - dt.timedelta(seconds=1))
    assert movable(found) == []
    found.wake_due(NOW)
    assert movable(found) == ["a"]


changes = st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 5)), max_size=40)


@given(changes)
def test_order_and_positions_after_any_history(history: list[tuple[bool, int, int]]) -> None:
    """Adding, moving and removing in any order leaves lanes sorted and positions 1 … n."""
    found, standing = Waiting(), {}
    for add, number, at in history:
        uid, demand = f"j{number}", (SMALL, BIG, URGENT)[number % 3]
        if add:
            standing[uid] = (-demand.priority, at, uid)
            found.add(demand, Entry(at, uid, 0))
        else:
            standing.pop(uid, None)
            found.remove(uid)
    order = sorted(standing, key=lambda uid: standing[uid])
    assert [found.position(uid) for uid in order] == [(n, n) for n in range(1, len(order) + 1)]
    assert len(found) == len(order)


REASONS = st.sampled_from([Reason.NO_CLUSTER_FITS, Reason.WAITING_FOR_QUOTA, Reason.BEHIND_HEAD])
DEMANDS = st.sampled_from([SMALL, BIG, URGENT, a_demand(queue="other")])
UIDS = st.sampled_from("abcdefgh")
CHANGES = st.one_of(
    st.tuples(st.just("add"), UIDS, DEMANDS, st.integers(0, 5)),
    st.tuples(st.just("remove"), UIDS),
    st.tuples(st.just("park"), DEMANDS, REASONS),
    st.tuples(st.just("wake"), REASONS),
    st.tuples(st.just("wake_queue"), DEMANDS),
    st.tuples(st.just("wake_all_for_room")),
)


def _is_for(reason: object, _: object, parked: Refusal) -> bool:
    return parked.reason is reason


@given(st.lists(CHANGES, max_size=40))
def test_who_is_in_line_is_counted_as_it_changes(changes: list[tuple[object, ...]]) -> None:
    """Considered and parked, by queue: the numbers that counting all lanes gives."""
    found = Waiting()
    for verb, *given_ in changes:
        match verb, given_:
            case "add", [uid, demand, at]:
                found.add(demand, Entry(at, uid, 0))  # type: ignore[arg-type]
            case "remove", [uid]:
                found.remove(uid)  # type: ignore[arg-type]
            case "park", [demand, reason]:
                found.park([refused(demand, reason)])  # type: ignore[arg-type]
            case "wake", [reason]:
                found.wake(functools.partial(_is_for, reason))
            case "wake_queue", [demand]:
                found.wake_queue(demand.queue)  # type: ignore[attr-defined]
            case _:
                found.wake_all_for_room()
        counted: dict[str, list[int]] = {}
        for lane in found.every_lane():
            line = counted.setdefault(lane.demand.queue, [0, 0])
            line[lane.parked is not None] += len(lane)
        assert {queue: list(line) for queue, line in found.in_line().items()} == counted


def test_what_was_not_short_of_quota_is_woken_by_quota_only_if_others_came_first() -> None:
    """Without shortages: those who waited for quota or victims, not those who lack a cluster."""
    lanes = [a_demand(a_pod_set(name=n)) for n in "abc"]
    found = waiting(a=(lanes[0], 1), b=(lanes[1], 2), c=(lanes[2], 3))
    reasons = Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_VICTIMS, Reason.NO_CLUSTER_FITS
    found.park(refused(lane, reason) for lane, reason in zip(lanes, reasons, strict=True))
    found.wake_for_quota("q", Ledger([a_queue(cpu=0)]))
    assert movable(found) == ["a", "b"]


def test_less_may_have_to_be_preempted_now() -> None:
    """With any shortage all who lack quota are woken, though what was released is too little."""
    of = FlavorResource("any", "cpu")
    found = waiting(big=(BIG, 1))
    short = refused(BIG, Reason.WAITING_FOR_QUOTA, shortages=(Shortage(of, 8000, 0, 9000),))
    found.park([short])
    ledger = Ledger([a_queue(cpu=9)], {"q": {of: 1001}})
    found.wake_for_quota("q", ledger)
    found.wake_for_quota("other", ledger, any_shortage=True)
    assert movable(found) == []
    found.wake_for_quota("q", ledger, any_shortage=True)
    assert movable(found) == ["big"]


def test_exactly_what_is_asked_for_is_enough() -> None:
    """Of quota, of the best node and of the whole cluster."""
    of = FlavorResource("any", "cpu")
    gang = a_demand(a_pod_set(count=2, requests={"cpu": 4}))
    found = waiting(a=(gang, 1))
    found.park([refused(gang, Reason.WAITING_FOR_QUOTA, shortages=(Shortage(of, 8000, 0, 0),))])
    found.wake_for_quota("q", Ledger([a_queue(cpu=8)]))
    assert movable(found) == ["a"]
    for best, left, woken in ((3999, 9000, []), (4000, 7999, []), (4000, 8000, ["a"])):
        found.park([refused(gang, Reason.NO_CLUSTER_FITS)])
        found.wake_for_room({"cpu": best}, {"cpu": left})
        assert movable(found) == woken


def test_places_where_history_counts() -> None:
    """Lanes of less usage go first whatever their priority; within one usage as ever."""
    ranks = {SMALL.key: 2.0, BIG.key: 1.0, URGENT.key: 2.0}
    found = waiting(a=(SMALL, 1), b=(BIG, 9), c=(URGENT, 5))
    assert [found.position(uid) for uid in "cab"] == [(1, 1), (2, 2), (3, 3)]
    found.rank_of = lambda demand, entry: ranks[demand.key]
    assert [found.position(uid) for uid in "bca"] == [(1, 1), (2, 2), (3, 3)]
    head = found.head("q")
    assert head is not None
    assert head.demand is BIG


def test_nobody_is_further_ahead_overall_than_in_its_own_queue() -> None:
    """Of other queues those count that come before it, or before one that comes before it in its queue."""
    other = a_demand(queue="r", priority=3)
    found = waiting(early=(SMALL, 1), other=(other, 2), late=(URGENT, 3))
    ranks = {SMALL.key: 1.0, URGENT.key: 2.0, other.key: 0.0}
    assert [found.position(uid) for uid in ("late", "other", "early")] == [(1, 1), (1, 2), (2, 3)]
    found.rank_of = lambda demand, entry: ranks[demand.key]
    assert [found.position(uid) for uid in ("early", "late")] == [(1, 2), (2, 3)]


def test_who_does_not_wait_has_no_place() -> None:
    """Neither a position, nor an entry, nor a lane; removing it changes nothing."""
    found = waiting(a=(SMALL, 1))
    found.remove("x")
    assert (found.position("x"), found.entry("x"), found.find("x")) == (None, None, None)
    assert ("a" in found, "x" in found, found.count("q"), found.head("r")) == (
        True,
        False,
        1,
        None,
    )
    lane = found.lane(SMALL)
    lane.remove(Entry(7, "x", 0))
    assert [entry.uid for entry in lane] == ["a"]


def test_a_lane_forgets_those_that_have_gone() -> None:
    """Thousands leave from the front: order, ranks and those still to come stay right."""
    found = Waiting()
    entries = [Entry(n, f"{n:05}", 0) for n in range(3000)]
    for entry in entries:
        found.add(SMALL, entry)
    for entry in entries[:2500]:
        found.remove(entry.uid)
    lane = found.lane(SMALL)
    assert (len(lane), list(lane.first(1))) == (500, [entries[2500]])
    assert (lane.rank(entries[2999]), found.position("02999")) == (499, (500, 500))
    found.add(SMALL, Entry(0, "early", 0))
    assert list(lane.first(2)) == [Entry(0, "early", 0), entries[2500]]


def test_parked_lanes_are_given_where_they_are_asked_for() -> None:
    """Of a strict queue all; of another only those that are not parked."""
    found = waiting(big=(BIG, 1), small=(SMALL, 2))
    found.park([refused(BIG, Reason.NO_CLUSTER_FITS)])
    for strict, uids in ((True, ["big", "small"]), (False, ["small"])):
        lanes = found.movable(a_queue(strict=strict), 1, parked=True)
        assert sorted(entry.uid for lane in lanes for entry in lane.entries) == uids


def test_behind_a_parked_head() -> None:
    """Only in a strict queue, only while its head is parked, and never the head itself."""
    found = waiting(big=(BIG, 1), small=(SMALL, 2))
    head, second = found.lane(BIG), found.lane(SMALL)
    strict = a_queue(strict=True)
    assert found.behind_head(strict, second) is None
    found.park([refused(BIG, Reason.NO_CLUSTER_FITS)])
    behind = found.behind_head(strict, second)
    assert behind is not None
    assert (behind.reason, behind.head) == (Reason.BEHIND_HEAD, "big")
    assert found.behind_head(strict, head) is None
    assert found.behind_head(a_queue(), second) is None


def test_of_several_flavors_any_that_has_enough_wakes() -> None:
    """A class is short of each flavor it was tried in, and one with room is enough for it."""
    a, b = FlavorResource("a", "cpu"), FlavorResource("b", "cpu")
    short = tuple(Shortage(of, 1000, 1000, 1000) for of in (a, b))
    for free, woken in ((), []), ((a,), ["s"]), ((b,), ["s"]), ((a, b), ["s"]):
        found = waiting(s=(SMALL, 1))
        found.park([refused(SMALL, Reason.WAITING_FOR_QUOTA, shortages=short)])
        used = {of: 1000 for of in (a, b) if of not in free}
        found.wake_for_quota("q", Ledger([a_queue(flavors=("a", "b"), cpu=1)], {"q": used}))
        assert movable(found) == woken

"""Who holds quota, in the order in which they would go, and how much of it they hold."""

from typing import Any

from hypothesis import given, strategies as st

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload, Key, QueueHolders, QuotaState
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from tests.domain.build import a_queue

CPU, MEMORY = FlavorResource("any", "cpu"), FlavorResource("any", "memory")


def a_holder(uid: str, cpu: int = 1, **given: Any) -> AdmittedWorkload:
    named = {"queue": "q", "namespace": "ns", "local_queue": "lq", "usage": {CPU: cpu}, **given}
    return AdmittedWorkload(uid=uid, name=uid, **named)


def a_state(*holders: AdmittedWorkload, by_usage: bool = False) -> QuotaState:
    """Queue q with 10 cpu, and another one, r."""
    queues = [a_queue(cpu=10), a_queue(name="r", cpu=10)]
    policies = {"q": QueuePolicy(by_usage=by_usage), "r": QueuePolicy()}
    named = {q.name: q for q in queues}
    return QuotaState(Ledger(queues).tree, named, policies, holders, ranks={"ns/lq": 2.5})


def key(holder: AdmittedWorkload) -> Key:
    return not holder.evicted, holder.priority, holder.uid


steps = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.none() | st.tuples(st.integers(0, 2), st.booleans())),
    max_size=20,
)


@given(steps, st.integers(0, 20))
def test_the_order_is_kept_up_as_holders_come_and_go(
    changes: list[tuple[str, tuple[int, bool] | None]], asked: int
) -> None:
    """From the first look on it is that of sorting anew, and where the live ones begin too."""
    holders, known = QueueHolders({}), dict[str, AdmittedWorkload]()
    for number, (uid, change) in enumerate(changes):
        if number == asked:
            holders.ranked("order", key)
        if change is not None:
            known[uid] = a_holder(uid, priority=change[0], evicted=change[1])
            holders.put(known[uid])
        elif uid in known:
            del known[uid]
            holders.drop(uid)
    ranked = [holder for _, holder in holders.copy().ranked("order", key)]
    assert ranked == sorted(known.values(), key=key)
    holders.ranked("order", key)
    assert holders.live == sum(h.evicted for h in known.values())


def test_a_copy_changes_alone() -> None:
    """Neither who is held nor the order of one shows in the other."""
    first = QueueHolders({"a": a_holder("a")})
    first.ranked("order", key)
    other = first.copy()
    other.put(a_holder("b"))
    assert [h.uid for _, h in first.ranked("order", key)] == ["a"]
    assert [h.uid for _, h in other.ranked("order", key)] == ["a", "b"]


def test_another_order_is_sorted_anew() -> None:
    """What was worked out for one order is not given for another."""
    holders = QueueHolders({"a": a_holder("a", priority=1), "b": a_holder("b", priority=0)})
    assert [h.uid for _, h in holders.ranked("up", key)] == ["b", "a"]
    by_uid = holders.ranked("name", lambda h: (h.uid,))
    assert [h.uid for _, h in by_uid] == ["a", "b"]


def test_what_holders_of_less_priority_hold() -> None:
    """All of it and the most of one; of equal priority none counts."""
    holders = QueueHolders(
        {
            "a": a_holder("a", 3, priority=0),
            "b": a_holder("b", 5, priority=1),
            "c": a_holder("c", 7, priority=2),
        }
    )
    assert holders.sums(CPU, 2, None) == (8, 5)
    assert holders.sums(CPU, None, None) == (15, 7)
    assert holders.sums(CPU, 0, None) == (0, 0)
    assert holders.sums(MEMORY, None, None) == (0, 0)


def test_who_began_after_an_instant_does_not_count() -> None:
    """At the instant itself does; who has not been admitted yet has no work to lose."""
    holders = QueueHolders(
        {
            "old": a_holder("old", 1, started_at=10),
            "new": a_holder("new", 2, started_at=11),
            "reserved": a_holder("reserved", 4),
        }
    )
    assert holders.sums(CPU, None, 10) == (5, 4)


def test_sums_follow_who_comes_and_goes() -> None:
    """Nothing that was worked out before a change is told after it, however much is remembered."""
    holders = QueueHolders({})
    for number in range(100):
        assert holders.sums(CPU, number, None) == (0, 0)
    holders.put(a_holder("a", 3))
    assert holders.sums(CPU, 99, None) == (3, 3)
    holders.put(a_holder("a", 4))
    assert holders.sums(CPU, 99, None) == (4, 4)
    holders.drop("a")
    assert holders.sums(CPU, 99, None) == (0, 0)


def test_whom_it_uses_the_contested() -> None:
    """Any of them is enough."""
    holder = a_holder("a")
    assert holder.uses([MEMORY, CPU])
    assert not holder.uses([MEMORY])


def test_evicted_holders_hold_their_quota_until_they_are_gone() -> None:
    """Being told to go changes their place in the order, not what is charged."""
    holder = a_holder("a", 4000)
    state = a_state(holder)
    node = state.node("q")
    state.mark_evicted(holder)
    marked = state.holder("q", "a")
    assert (marked.evicted, state.tree.available(node, CPU)) == (True, 6000)
    state.mark_evicted(marked)
    assert state.holder("q", "a") is marked
    state.remove(marked)
    assert (state.holds(holder), state.tree.available(node, CPU)) == (False, 10_000)
    state.mark_evicted(holder)
    assert not state.holds(holder)


def test_without_some_their_quota_is_free_for_a_while() -> None:
    """Whoever holds none is passed over; in the end everything is charged as before."""
    a, b, stranger = a_holder("a", 3000), a_holder("b", 2000), a_holder("x", 9000)
    state = a_state(a, b)
    node = state.node("q")
    with state.without([a, stranger]):
        assert state.tree.available(node, CPU) == 8000
    assert state.tree.available(node, CPU) == 5000


def test_holders_of_a_queue_that_is_gone_are_charged_nowhere() -> None:
    """They are known, and can leave."""
    orphan = a_holder("a", queue="gone")
    state = a_state(orphan)
    assert state.holds(orphan)
    with state.without([orphan]):
        assert state.tree.available(state.node("q"), CPU) == 10_000
    state.remove(orphan)
    assert list(state.all_holders()) == []


def test_what_is_seen_as_gone_is_so_in_the_overlay_alone() -> None:
    """What is added or removed meanwhile shows when the overlay is looked at again."""
    a = a_holder("a", 4000)
    state = a_state(a)
    overlay = state.apart()
    with state.seen_as(overlay):
        state.remove(a)
        assert state.tree.available(state.node("q"), CPU) == 10_000
    assert state.holds(a)
    assert state.tree.available(state.node("q"), CPU) == 6000
    with state.seen_as(overlay):
        assert not state.holds(a)


def test_a_rank_counts_only_where_history_does() -> None:
    """That of its LocalQueue; of one that has none 0."""
    assert a_state(by_usage=True).rank(a_holder("a")) == 2.5
    assert a_state(by_usage=True).rank(a_holder("a", local_queue="other")) == 0.0
    assert a_state().rank(a_holder("a")) == 0.0
    assert a_state(by_usage=True).rank(a_holder("a", queue="gone")) == 0.0

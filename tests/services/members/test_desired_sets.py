"""The desired set of a cluster: which number an agent may go on from, and what it is then told."""

import pytest

from hub.services.members import desired
from hub.services.members.desired import ClusterSet
from hub.store.records.works import Desired
from shared.wire.agent_v1 import DesiredBase


def a_row(uid: str, epoch: int = 1, hashed: str = "h", action: str = "Apply") -> Desired:
    return Desired("c1", uid, epoch, 1, action, hashed, True)


def holding(*uids: str) -> tuple[ClusterSet, DesiredBase]:
    """A set, and what an agent holds that was told all of it."""
    found = ClusterSet()
    for uid in uids:
        found.put(a_row(uid))
    return found, told(found)


def told(of: ClusterSet) -> DesiredBase:
    """An agent is brought to the present."""
    return DesiredBase(revision=of.number, digest=of.sent("s", of.number, more=False))


def changes(of: ClusterSet, base: DesiredBase) -> tuple[bool, list[str], list[str]] | None:
    delta = of.delta("s", base)
    if delta is None:
        return None
    return delta.full, [e.row.uid for e in delta.entries], [uid for _, uid in delta.removed]


def test_only_what_changed_since_is_told():
    """Not the entry of the number itself, but each one after it, in order; twice changed is told once."""
    found, base = holding("a", "b", "c")
    assert changes(found, base) is None
    for uid in ("b", "d", "b"):
        found.put(a_row(uid, epoch=found.number))
    found.drop("a")
    assert changes(found, base) == (False, ["d", "b"], ["a"])


def test_what_came_back_is_not_told_as_gone():
    """Dropped and put again since: it is an entry, no removal."""
    found, base = holding("a", "b")
    found.drop("a")
    found.put(a_row("a", epoch=2))
    assert changes(found, base) == (False, ["a"], [])


def test_the_same_row_again_is_no_news():
    """Nor is one that differs in what agents are not told: whether it was offered."""
    found, base = holding("a")
    number = found.number
    found.put(a_row("a")._replace(offered=False))
    found.drop("never there")
    assert (found.number, changes(found, base)) == (number, None)


def test_a_settled_hash_keeps_its_number():
    """What was prepared for sending is told with its hash, and stands where it stood."""
    found, base = holding("a")
    found.put(a_row("b", hashed=""))
    number = found.number
    assert found.settle(a_row("b", hashed="h2"))
    assert (found.number, changes(found, base)) == (number, (False, ["b"], []))


@pytest.mark.parametrize(
    "newer",
    [a_row("b", action="Withdraw"), a_row("b", epoch=2), None],
    ids=["action", "epoch", "gone"],
)
def test_a_row_that_was_prepared_before_does_not_replace_a_newer_one(newer):
    """A withdrawal that was committed between the offer and its reply reaches the agent."""
    found, base = holding("a", "b")
    if newer is None:
        found.drop("b")
    else:
        found.put(newer)
    assert not found.settle(a_row("b", hashed="h2"))
    assert (found.get("b") and found.get("b").row) == newer
    assert changes(found, base) == (False, ["b"] if newer else [], [] if newer else ["b"])


def test_removals_are_remembered_up_to_a_bound():
    """An agent that holds a set from before the last one forgotten gets the whole."""
    most = desired.MAX_REMOVED
    found, base = holding(*(f"u{n}" for n in range(most + 2)))
    found.drop("u0")
    after_first = told(found)
    for n in range(1, most):
        found.drop(f"u{n}")
    gone = [f"u{n}" for n in range(most)]
    assert changes(found, base) == (False, [], gone)
    found.drop(f"u{most}")
    assert changes(found, base) == (True, [f"u{most + 1}"], [])
    assert changes(found, after_first) == (False, [], [*gone[1:], f"u{most}"])


@pytest.mark.parametrize(
    ("replies", "known"), [(desired.MAX_SENT - 1, True), (desired.MAX_SENT, False)]
)
def test_replies_are_remembered_up_to_a_bound(replies, known):
    """A number is trusted while the digest that went out with it is remembered; then all is told."""
    found, base = holding("a")
    for n in range(replies):
        found.put(a_row(f"b{n}"))
        told(found)
    answer = changes(found, base)
    assert answer is not None
    assert answer[0] is not known


def test_a_page_is_gone_on_from_by_its_session_alone():
    """Between pages the agent's digest means nothing; another session begins with the whole."""
    found, _ = holding("a", "b")
    half = DesiredBase(revision=found.number - 1, digest="whatever")
    assert found.sent("s", half.revision, more=True) == ""
    assert changes(found, half) == (False, ["b"], [])
    delta = found.delta("other", half)
    assert delta is not None
    assert delta.full

"""The two sets that hub and agent keep level, the waves, and the lease."""

import pytest
from hypothesis import given, strategies as st

from agent.decide.waves import Waves, wave_of
from agent.works.desired_set import DesiredSet
from agent.works.lease import Lease
from agent.works.observed_set import ObservedSet
from shared.wire.agent_v1 import Desired, Observed
from shared.wire.set_digest import SetDigest
from tests.agent.scripted_hub import a_job


def digest_of(works):
    digest = SetDigest()
    for work in works:
        digest.add(work.digest_line())
    return digest.hex()


def a_page(*works, full=False, more=False, revision=1, removed=(), digest=None):
    return Desired(
        full=full,
        revision=revision,
        digest="" if more else digest_of(works) if digest is None else digest,
        works=list(works),
        removed=list(removed),
        more=more,
    )


def seen(uid, phase="Applied"):
    return Observed(uid=uid, epoch=1, generation=1, seq=0, phase=phase)


def test_a_delta_changes_what_it_names():
    """New, changed and removed works are told; what stays is not."""
    held = DesiredSet()
    one, two = a_job("u-1", "one"), a_job("u-2", "two")
    assert held.take(a_page(one, two, full=True))[0] == [one, two]
    newer = a_job("u-2", "two", generation=2)
    changed, gone = held.take(
        a_page(newer, revision=2, removed=["u-1"], digest=digest_of([newer]))
    )
    assert (changed, gone) == ([newer], ["u-1"])
    assert held.base.revision == 2


def test_a_full_set_in_pages_forgets_nothing_before_its_last_page():
    """Works of the first pages are acted on at once; absent ones go with the last."""
    held = DesiredSet()
    one, two, three = (a_job(f"u-{n}", f"j-{n}") for n in (1, 2, 3))
    held.take(a_page(one, two, full=True))
    changed, gone = held.take(a_page(three, full=True, more=True, revision=5))
    assert (changed, gone) == ([three], [])
    changed, gone = held.take(a_page(two, revision=6, digest=digest_of([two, three])))
    assert gone == ["u-1"]
    assert set(held.works) == {"u-2", "u-3"}


def test_a_digest_that_does_not_match_asks_for_the_whole_set():
    """A lost delta shows in the digest."""
    held = DesiredSet()
    held.take(a_page(a_job(), digest="something else"))
    assert held.base.revision == 0


def test_an_entry_is_news_only_if_it_says_something_new():
    """The same observation twice is one entry with one sequence number."""
    held = ObservedSet()
    assert held.put(seen("a"))
    assert not held.put(seen("a"))
    assert held.put(seen("a", "Gone"))
    assert held.entries["a"].seq == 2


def test_entries_are_sent_until_acknowledged_in_their_last_state():
    """What changed after it was sent is sent again."""
    held = ObservedSet()
    held.put(seen("a"))
    held.put(seen("b"))
    sent = [(entry.uid, entry.seq) for entry in held.page(10)]
    held.put(seen("b", "Gone"))
    held.acknowledge(sent)
    assert [entry.uid for entry in held.page(10)] == ["b"]


def test_pages_take_the_longest_waiting_first():
    """No entry starves behind busier ones."""
    held = ObservedSet()
    for uid in "abc":
        held.put(seen(uid))
    held.put(seen("a", "Gone"))
    assert [entry.uid for entry in held.page(2)] == ["b", "c"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["Applied", "Gone", None]))))
def test_the_digest_is_that_of_the_entries(steps):
    """However the set came about."""
    held = ObservedSet()
    for uid, phase in steps:
        if phase is None:
            held.drop(uid)
        else:
            held.put(seen(uid, phase))
    digest = SetDigest()
    for entry in held.entries.values():
        digest.add(entry.digest_line())
    assert held.digest == digest.hex()


def test_waves_follow_what_kinds_need():
    """Namespaces, then configuration and definitions, roles, bindings, workloads, hooks, the rest."""
    order = ["Namespace", "ConfigMap", "Role", "RoleBinding", "Job", "APIService", "Thing"]
    assert [wave_of(kind) for kind in order] == list(range(7))


def test_a_wave_waits_for_its_own_namespace_and_for_the_cluster():
    """What is pending in another namespace holds nobody up."""
    waves = Waves()
    waves.set_pending("ns", "Namespace", "", pending=True)
    waves.set_pending("cm", "ConfigMap", "a", pending=True)
    assert not waves.is_open("ConfigMap", "b")
    assert waves.set_pending("ns", "Namespace", "", pending=False)
    assert waves.is_open("ConfigMap", "b")
    assert waves.is_open("Deployment", "b")
    assert not waves.is_open("Deployment", "a")
    assert waves.set_pending("cm", "ConfigMap", "a", pending=False)
    assert waves.is_open("Deployment", "a")


def test_the_lease_counts_from_when_the_answered_request_was_sent():
    """However late the answer came."""
    lease = Lease(30)
    assert lease.left(100) == 0
    lease.answered(sent_at=100, now=110)
    assert lease.left(120) == 10
    assert lease.left(131) == 0
    lease.answered(sent_at=140, now=140)
    assert lease.left(141) == 29


def test_a_session_is_settled_a_lease_and_a_tenth_after_its_first_answer_came():
    """The hub may have answered an earlier session until then; a superseded one is never settled."""
    lease = Lease(30)
    assert lease.settled_at(1000) is None
    lease.answered(sent_at=100, now=120)
    lease.answered(sent_at=125, now=126)
    assert lease.settled_at(152) is None
    assert lease.settled_at(153) == 153
    assert lease.settled_at(160) == 153
    lease.revoked = True
    assert lease.settled_at(1000) is None
    assert lease.left(126) == 0


def test_what_a_full_set_repeats_is_no_change():
    """A work is told as changed only where it differs from what is held."""
    held = DesiredSet()
    one, two = a_job("u-1", "one"), a_job("u-2", "two")
    held.take(a_page(one, two, full=True))
    newer = a_job("u-2", "two", generation=2)
    changed, gone = held.take(a_page(a_job("u-1", "one"), newer, full=True, revision=2))
    assert (changed, gone) == ([newer], [])


def test_a_full_set_that_begins_anew_counts_from_its_own_first_page():
    """Pages of one that was broken off keep nothing that the next does not list."""
    held = DesiredSet()
    one, two = a_job("u-1", "one"), a_job("u-2", "two")
    held.take(a_page(one, two, full=True))
    held.take(a_page(one, full=True, more=True, revision=3))
    _, gone = held.take(a_page(two, full=True, revision=4))
    assert gone == ["u-1"]


def test_a_delta_after_a_full_set_forgets_nothing():
    """Only the pages of a full set are complete."""
    held = DesiredSet()
    one, two = a_job("u-1", "one"), a_job("u-2", "two")
    held.take(a_page(one, two, full=True))
    _, gone = held.take(a_page(two, revision=2, digest=digest_of([one, two])))
    assert (gone, held.base.revision) == ([], 2)


def test_what_is_forgotten_is_sent_no_more():
    """An entry that waits to be sent goes with its uid."""
    held = ObservedSet()
    held.put(seen("a"))
    held.drop("a")
    held.drop("never there")
    assert (held.page(10), held.unsent, held.digest) == ([], 0, "")


@pytest.mark.parametrize(("seq", "settled"), [(1, []), (2, ["a"]), (3, [])])
def test_only_the_state_that_was_stored_is_settled(seq, settled):
    """An older one says nothing of what came since, nor does one of another session."""
    held = ObservedSet()
    held.put(seen("a"))
    held.put(seen("a", "Gone"))
    assert held.acknowledge([("a", seq), ("unknown", 1)]) == settled
    assert held.unsent == (0 if settled else 1)


@pytest.mark.parametrize(
    ("kind", "namespace", "is_open"),
    [
        ("Namespace", "", True),
        ("ConfigMap", "a", True),
        ("Secret", "a", True),
        ("Role", "a", False),
        ("Role", "b", True),
        ("Thing", "", True),
        ("Thing", "a", False),
    ],
)
def test_a_wave_waits_for_earlier_ones_and_not_for_its_own(kind, namespace, is_open):
    """While a ConfigMap of namespace a is pending: what is cluster-scoped does not wait for it."""
    waves = Waves()
    waves.set_pending("cm", "ConfigMap", "a", pending=True)
    assert waves.is_open(kind, namespace) is is_open


def test_a_wave_opens_with_the_last_of_its_works():
    """Told twice that one is pending or no more, it is counted once."""
    waves = Waves()
    for uid in ("one", "one", "two"):
        waves.set_pending(uid, "ConfigMap", "a", pending=True)
    opened = [
        waves.set_pending(uid, "ConfigMap", "a", pending=False) for uid in ("one", "one", "two")
    ]
    assert opened == [False, False, True]
    assert waves.is_open("Role", "a")


@pytest.mark.parametrize(("now", "left", "settled"), [(129.5, 0.5, None), (130, 0, None)])
def test_a_lease_ends_at_its_last_second(now, left, settled):
    """To that very instant; what it leaves is never less than nothing."""
    lease = Lease(30)
    lease.answered(sent_at=100, now=100)
    assert (lease.left(now), lease.settled_at(now)) == (left, settled)
    assert lease.left(1000) == 0

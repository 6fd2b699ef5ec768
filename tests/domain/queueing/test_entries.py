"""The entries of a lane: a sorted list, of which what was given stays as it was."""

import bisect
from collections.abc import Sequence

from hypothesis import given, strategies as st

from hub.domain.queueing.entries import Entries
from hub.domain.queueing.lanes import Entry

places = st.integers(0, 40)
steps = st.lists(st.tuples(st.sampled_from(["add", "add", "remove", "first"]), places))


def an_entry(place: int) -> Entry:
    return Entry(place // 3, f"w{place:02}", 0)


@given(st.sets(places), steps, st.integers(1, 6), st.integers(0, 45))
def test_entries_are_a_sorted_list(
    begun: set[int], changes: list[tuple[str, int]], size: int, limit: int
) -> None:
    """After any additions and removals: in order, counted, ranked, and the first of them as asked for."""
    model = sorted(map(an_entry, begun))
    entries = Entries(model, size)
    for what, place in changes:
        entry = an_entry(place)
        if what == "add" and entry not in model:
            bisect.insort(model, entry)
            entries.add(entry)
        elif what == "remove":
            model = [each for each in model if each != entry]
            entries.remove(entry)
        assert (list(entries), len(entries)) == (model, len(model))
        assert list(entries.first(limit)) == model[:limit]
        assert entries.rank(entry) == bisect.bisect_left(model, entry)
        assert max(map(len, entries._blocks), default=0) < 2 * max(size, 1)
        assert all(entries._blocks)


@given(st.sets(places, min_size=1), steps, st.integers(1, 6), st.integers(1, 45))
def test_what_was_given_stays(
    begun: set[int], changes: list[tuple[str, int]], size: int, limit: int
) -> None:
    """Whatever is added and removed later does not show in what was given before, nor in who walks all."""
    entries = Entries(sorted(map(an_entry, begun)), size)
    taken: list[tuple[Sequence[Entry], list[Entry]]] = []
    walks, all_then = iter(entries), list(entries)
    for what, place in changes:
        entry = an_entry(place)
        if what == "first":
            taken.append((entries.first(limit), list(entries)[:limit]))
        elif what == "remove":
            entries.remove(entry)
        elif entry not in list(entries):
            entries.add(entry)
    assert list(walks) == all_then
    for given_, then in taken:
        assert [given_[at] for at in range(len(given_))] == then == list(given_)


@given(st.sets(places), st.integers(1, 6), st.integers(0, 45), st.slices(45), places)
def test_the_first_are_a_sequence(
    begun: set[int], size: int, limit: int, cut: slice, place: int
) -> None:
    """Slices, places from the end and searches by place are those of the list."""
    model = sorted(map(an_entry, begun))
    found = Entries(model, size).first(limit)
    model = model[:limit]
    assert list(found[cut]) == model[cut]
    assert [found[-1 - at] for at in range(len(model))] == model[::-1]
    entry = an_entry(place)
    assert bisect.bisect_left(found, entry) == bisect.bisect_left(model, entry)


def test_blocks_that_got_small_are_joined() -> None:
    """Taking out most of a million leaves no million of blocks with one entry each."""
    every = [an_entry(place) for place in range(40)]
    entries = Entries(every, 4)
    for number, entry in enumerate(every):
        if number % 4:
            entries.remove(entry)
    assert len(entries) == 10
    assert len(entries._blocks) <= 6

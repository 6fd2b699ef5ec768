"""Which of equals takes a job: the same however it is looked for, equal shares over many jobs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hub.domain.placement.scoring.ties import Tied, hashes

FEW = 3
MANY = 20  # so many are mixed as an array


def names(count: int) -> tuple[str, ...]:
    return tuple(f"c{n}" for n in range(count))


def afresh(keys: list[int], uid: str) -> int:
    """Who takes it, asked without anything remembered."""
    competing = np.array(keys, dtype=np.int64)
    first = int(competing.argmax())
    return Tied().pick(competing, first, uid, hashes(names(len(keys))), 0)


@pytest.mark.parametrize("count", [2, FEW, 8, 9, MANY])
def test_of_equals_each_gets_its_share(count: int) -> None:
    """Of four hundred jobs per cluster nobody gets less than three quarters or more than five quarters."""
    jobs = 400 * count
    found = Counter(afresh([5] * count, f"job-{n}") for n in range(jobs))
    assert set(found) == set(range(count))
    assert all(300 < number < 500 for number in found.values())


@given(st.lists(st.integers(0, 1), min_size=2, max_size=MANY), st.text())
def test_only_the_best_take_part(keys: list[int], uid: str) -> None:
    """Whoever takes it stands as high as the highest."""
    assert keys[afresh(keys, uid)] == max(keys)


@given(st.text(), st.data())
def test_a_cluster_that_drops_out_moves_no_other_job(uid: str, data: st.DataObject) -> None:
    """A job's cluster stays the same while another one of those tied is gone."""
    before = afresh([5] * MANY, uid)
    gone = data.draw(st.sampled_from([n for n in range(MANY) if n != before]))
    keys = [5] * MANY
    keys[gone] = 4
    assert afresh(keys, uid) == before


@given(st.lists(st.tuples(st.text(max_size=4), st.integers(1, 2)), max_size=40))
def test_what_is_remembered_changes_no_answer(jobs: list[tuple[str, int]]) -> None:
    """While scores only fall, who is picked is who would be picked by looking at all anew."""
    competing = np.full(MANY, 50, dtype=np.int64)
    tied, known = Tied(), hashes(names(MANY))
    for uid, cost in jobs:
        at = tied.pick(competing, int(competing.argmax()), uid, known, 0)
        assert at == afresh(competing.tolist(), uid)
        competing[at] -= cost


def test_a_score_that_rose_is_seen() -> None:
    """With another number of rises all are looked at again, whatever is remembered."""
    competing = np.full(MANY, 5, dtype=np.int64)
    tied, known = Tied(), hashes(names(MANY))
    tied.pick(competing, 0, "a", known, 0)
    competing[:] = 4
    competing[7] = 5
    assert tied.pick(competing, 7, "b", known, 1) == 7
    competing[:] = 5
    assert tied.pick(competing, 0, "c", known, 2) == afresh([5] * MANY, "c")

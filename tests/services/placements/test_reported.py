"""Placements that stand: reports alone bring the status to what reconciling the whole would make of it.

The oracle is `reconcile_with_status`, on the same store in the same transaction, and undone before that.
"""

import asyncio
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import given, strategies as st

from hub.services.placements.bindings import EVICTED, REBALANCED
from hub.services.placements.fleet import read_fleet
from hub.services.placements.reported.remembered import Remembered
from hub.services.placements.reported.reports import RolledOut, take_reports
from hub.services.placements.status import Next, reconcile_with_status
from hub.store import objects, placements, works
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.documents import Json
from tests.examples import Contents, examples, sample
from tests.services.placements.stored import AT, a_placement, fill, observed
from tests.store.build import START, an_object, opened

MEMBERS = ("north", "south")
PARTS = ("a", "b")
FOUND = Contents()
DRIFT = {"path": "/data/color", "hub": '"blue"', "member": '"red"', "first_seen": AT}
GIVEN: dict[str, Json] = {
    "plain": {},
    "leaves drift": {"strategy": {"applyStrategy": {"whenToApply": "IfNotDrifted"}}},
    "one": {"policy": {"placementType": "PickN", "numberOfClusters": 1}},
    "named": {"policy": {"placementType": "PickFixed", "clusterNames": ["south"]}},
    "missing": {"policy": {"placementType": "PickFixed", "clusterNames": ["south", "west"]}},
    "mirrored": {"strategy": {"reportBackStrategy": {"type": "Mirror"}}},
}
REPORT = st.fixed_dictionaries(
    {
        "phase": st.sampled_from(
            ["Applied", "Applied", "Applied", "Failed", "Missing", "Pending"]
        ),
        "available": st.sampled_from([True, True, False, None]),
        "drift": st.sampled_from([None, None, [DRIFT]]),
        "reason": st.sampled_from(["", "", "DiffReported", "NamespaceMissing"]),
        "message": st.sampled_from(["", "2 of 3 replicas"]),
        "observed_generation": st.sampled_from([1, 1, 1, 0]),
    }
)
SAID = st.tuples(st.sampled_from(MEMBERS), st.sampled_from(PARTS), REPORT)
ACT = st.tuples(
    st.lists(SAID, max_size=3),
    st.sampled_from([0, 1, 90]),
    st.sampled_from(["", "", "", "", "evicted", "rebalanced", "gone", "restored"]),
)


def written(tx: Transaction) -> tuple[Any, ...]:
    """All that looking at a placement writes: its status, its bindings, its works."""
    row = objects.get(tx, "p")
    assert row is not None
    return (
        row.status,
        placements.bindings_of(tx, "p"),
        sorted(works.of_placement(tx, "p"), key=str),
    )


def whole(tx: Transaction) -> Next:
    return reconcile_with_status(tx, "p", read_fleet(tx), 1)


def as_reconciled(tx: Transaction) -> tuple[tuple[Any, ...], list[Any]]:
    """Reconcile, return the rows and Events that this writes, and undo it."""
    before, told = {kind: set(keys) for kind, keys in tx.touched.items()}, len(tx.events)
    point = tx.conn.begin_nested()
    whole(tx)
    found = written(tx), tx.events[told:]
    point.rollback()
    del tx.events[told:]
    tx.touched = before
    return found


def look(
    tx: Transaction, standing: RolledOut | None, clusters: Collection[str]
) -> RolledOut | None:
    """As the controller does; what is written by reports is compared."""
    if standing is None:
        return whole(tx).standing
    wanted, said = as_reconciled(tx)
    told = len(tx.events)
    after = take_reports(tx, standing, clusters, 1)
    FOUND.note(after)
    if after is None:
        return whole(tx).standing
    assert written(tx) == wanted
    assert tx.events[told:] == said
    return after


def happen(tx: Transaction, said: list[tuple[str, str, Json]], what: str) -> set[str]:
    """Agents report and people act; returns the clusters that the feed would name."""
    there = {(each.cluster, each.uid): each for each in works.of_placement(tx, "p")}
    reports = [observed(name, part, **of) for name, part, of in said if (name, part) in there]
    works.observe(tx, reports)
    named = {each["cluster"] for each in reports}
    if what in ("evicted", "rebalanced"):
        mark = EVICTED if what == "evicted" else REBALANCED
        bound = placements.bindings_of(tx, "p")[:1]
        placements.bind(
            tx,
            [each._replace(policy_snapshot=mark, selected=what != "evicted") for each in bound],
        )
        named |= {each.cluster for each in bound}
    key = next(iter(sorted(there)), None)
    if what == "gone" and key is not None:
        works.remove(tx, [key])
        named.add(key[0])
    if what == "restored" and key is not None:
        cluster, uid = key
        same = there[key].options
        works.reoption(tx, [{"cluster": cluster, "uid": uid, "options": same, "hash": "other"}])
        named.add(key[0])
    return named


async def played(folder: Path, given_as: str, acts: list[Any]) -> None:
    clock = ManualClock(START)
    async with opened(folder, clock) as db:
        await fill(db, a_placement(**GIVEN[given_as]), *(an_object(each) for each in PARTS))
        standing = await db.write(lambda tx: look(tx, None, ()))
        for said, seconds, what in acts:
            clock.advance(seconds)

            def turn(tx: Transaction, before: RolledOut | None = standing, of: Any = (said, what)):
                return look(tx, before, happen(tx, *of))

            standing = await db.write(turn)


def play(settings: hypothesis.settings) -> None:
    @settings
    @given(given_as=st.sampled_from(sorted(GIVEN)), acts=st.lists(ACT, min_size=3, max_size=8))
    def one(given_as: str, acts: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(played(Path(folder), given_as, acts))

    one()


def test_reports_make_of_a_status_what_reconciling_would() -> None:
    """After any reports, evictions, moves and restores: the same status, bindings, works and Events."""
    play(examples(60))


def test_reports_alone_make_the_status_in_a_third_of_the_turns() -> None:
    """The property before has something to compare."""
    FOUND.seen.clear()
    play(sample(30))
    assert FOUND.are_in(0.3), FOUND.seen


async def _one_that_stands(folder: Path) -> RolledOut | None:
    async with opened(folder) as db:
        await fill(db, a_placement(), an_object("a"))
        await db.write(whole)
        return (await db.write(whole)).standing


def test_of_those_that_are_remembered_the_least_lately_used_is_forgotten(tmp_path: Path) -> None:
    """Counted by their clusters; one alone is kept however many it has."""
    one = asyncio.run(_one_that_stands(tmp_path))
    assert one is not None
    known = Remembered(most_clusters=2 * len(one))
    for uid in ("p", "q"):
        known.put(uid, one)
    known.put("p", known.take("p"))
    known.put("r", one)
    assert [known.has(uid) for uid in "pqr"] == [True, False, True]
    little = Remembered(most_clusters=1)
    little.put("p", one)
    assert little.has("p")
    assert len(one) == len(MEMBERS)

"""Which placements a change concerns, and when one of them is no news."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.placements.index import PlacementIndex, object_rows
from hub.store import works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import JobTraits
from shared.clock import ManualClock
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from tests.services.placements.stored import CONFIGS, JOBS, a_placement, fill
from tests.store.build import (
    START,
    a_wanted_work,
    an_object,
    call,
    opened,
)

pytestmark = pytest.mark.anyio


def test_an_index_knows_whom_a_change_concerns():
    """A row that differs in its status alone is no news; what is dropped concerns nobody any more."""
    index = PlacementIndex()
    row = a_placement("p", {**JOBS, "labelSelector": {"matchLabels": {"a": "b"}}})
    assert index.put(row) is True
    assert index.put(row._replace(status={"conditions": []})) is False
    assert index.put(row._replace(hash="other")) is True
    assert index.put(row._replace(hash="other", generation=2)) is True
    assert index.leaving == set()
    assert index.put(row._replace(hash="other", generation=2, deleted_at=START)) is True
    assert (index.leaving, index.uids(), index.selects_jobs()) == ({"p"}, ["p"], True)
    traits = [
        JobTraits("batch/v1", "Job", "team-a", "one", {"a": "b"}, "former"),
        JobTraits("batch/v1", "Job", "team-a", "two", {}, "another"),
    ]
    assert index.of_jobs(traits) == {"former", "another", "p"}
    widened = a_placement("p", CONFIGS, generation=3)
    assert index.put(widened) is True
    assert index.of_jobs(traits) == {"former", "another"}
    assert index.concerned("", "ConfigMap", "team-a", "c", {}) == {"p"}
    index.unsettled.add("p")
    assert index.drop("p") is True
    assert (index.drop("p"), index.unsettled, index.uids()) == (False, set(), [])


def test_an_override_that_is_gone_was_one_once():
    """So that what it changed is looked at again, one time."""
    index = PlacementIndex()
    override = an_object("o", api_group=PLACEMENT, kind="ResourceOverride")
    assert index.is_override("o", an_object("o")) is False
    assert index.is_override("o", override) is True
    assert index.overrides == {"o"}
    assert [index.is_override("o", None) for _ in range(2)] == [True, False]
    assert index.overrides == set()


async def test_an_object_concerns_every_placement_that_holds_it(tmp_path: Path):
    """Each of several, in whichever clusters; what no placement holds, none."""
    async with opened(tmp_path, ManualClock(START)) as db:
        await fill(db, an_object("c"), an_object("d"))
        rows = [
            a_wanted_work("north", "c", placed_by="p"),
            a_wanted_work("south", "c", placed_by="q"),
            a_wanted_work("north", "d"),
        ]
        await db.write(call(works.upsert, rows))
        found, placed = await db.read(call(object_rows, ["c", "d", "gone"]))
        assert (set(found), placed) == ({"c", "d"}, {"c": {"p", "q"}})


def test_few_of_a_thousand_placements_are_asked_about_one_object():
    """The same that all of them would have said, of every way to select."""
    index = PlacementIndex()
    rows = [
        _selecting(f"p{number}", namespace, selector)
        for number, (namespace, selector) in enumerate(
            [("", {"kind": "Namespace", "name": f"n{each}"}) for each in range(1000)]
            + [("", {"kind": "Namespace", "name": "n1", "selectionScope": "NamespaceOnly"})]
            + [("", {"kind": "Namespace", "labelSelector": {"matchLabels": {"a": "b"}}})]
            + [("", {"kind": "ClusterRole", "name": "r"}), ("", {"kind": "ClusterRole"})]
            + [("n1", {"kind": "ConfigMap"}), ("n1", {"kind": "ConfigMap", "name": "c"})]
            + [("n2", {"kind": "ConfigMap", "labelSelector": {"matchLabels": {"a": "b"}}})]
        )
    ]
    for row in rows:
        index.put(row)
    for kind, namespace, name in [
        ("Namespace", "", "n1"), ("Namespace", "", "x"), ("ConfigMap", "n1", "c"),
        ("ConfigMap", "n2", "c"), ("ConfigMap", "x", "c"), ("Secret", "n1", "c"),
        ("ClusterRole", "", "r"), ("ClusterRole", "", "s"),
    ]:  # fmt: skip
        for labels in ({}, {"a": "b"}):
            said = index.concerned("", kind, namespace, name, labels)
            rules = {row.uid: index.rules_of(row.uid) for row in rows}
            assert said == {
                uid
                for uid, each in rules.items()
                if each is not None and each.may_select("", kind, namespace, name, labels)
            }
            assert index.is_concerned("", kind, namespace, name, labels) is bool(said)
            assert len(index._candidates.of("", kind, namespace, name)) < 8
    for row in rows:
        index.drop(row.uid)
    assert not index._candidates._by_key


def _selecting(uid: str, namespace: str, selector: dict[str, Any]) -> StoredObject:
    return an_object(
        uid,
        api_group=PLACEMENT,
        kind="ResourcePlacement" if namespace else "ClusterResourcePlacement",
        namespace=namespace,
        spec={"resourceSelectors": [{"group": "", "version": "v1", **selector}]},
    )

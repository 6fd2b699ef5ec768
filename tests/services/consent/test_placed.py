"""Namespaces of placements are named to the agents, within their share, and forgotten with the placements."""

from pathlib import Path

import pytest

from hub.services.consent import namespaces as consents, placed
from hub.services.consent.placed import PlacedNamespaces, name_placed
from hub.store import settings
from tests.domain.build import a_cluster
from tests.store.build import call, opened

pytestmark = pytest.mark.anyio
TELLS = {"c": a_cluster(consent={})}


async def test_who_has_room_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that sorts before the others comes after them; `beyond` lists the names without room."""
    monkeypatch.setattr(placed, "MOST_PLACED", 2)
    async with opened(tmp_path) as db:
        await db.write(lambda tx: name_placed(tx, frozenset({"m", "n"})))
        asked = await db.write(lambda tx: name_placed(tx, frozenset({"a", "m", "n"})))
        assert (sorted(asked.names), sorted(asked.beyond)) == (["m", "n"], ["a"])


async def test_a_new_leader_drops_no_name_before_it_has_looked_at_all(tmp_path: Path) -> None:
    """It adds those of the placements that it has looked at; once it has seen all, the others may go."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: name_placed(tx, frozenset({"a", "b"})))
        some = frozenset({"c"})
        await db.write(lambda tx: name_placed(tx, some, whole=False))
        assert await db.read(call(settings.get, consents.PLACED)) == ["a", "b", "c"]
        await db.write(lambda tx: name_placed(tx, some))
        assert await db.read(call(settings.get, consents.PLACED)) == ["c"]


def test_nothing_is_named_while_no_agent_reports_consent() -> None:
    """Nor again while the namespaces of placements stay the same."""
    known = PlacedNamespaces()
    known.put("p", frozenset({"a"}))
    assert known.unnamed({"c": a_cluster()}, whole=True) is None
    assert known.unnamed(TELLS, whole=True) == {"a"}
    known.took(consents.AskedNamespaces(1, frozenset({"a"})), whole=True)
    known.put("q", frozenset({"a"}))
    assert known.unnamed(TELLS, whole=True) is None
    known.put("p", frozenset())
    assert known.unnamed(TELLS, whole=True) is None
    known.put("q", frozenset())
    assert known.unnamed(TELLS, whole=True) == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "looks"),
    [
        ({}, {"a": "Absent"}, True),
        ({"a": "Absent"}, {"a": "Created"}, False),
        ({"a": "Labelled"}, {"a": "NotAccepted"}, True),
        ({"b": "Absent"}, {"b": "NotAccepted"}, False),
        (None, {}, True),
    ],
)
def test_a_placement_looks_again_when_an_answer_changes(
    old: dict[str, str] | None, new: dict[str, str] | None, looks: bool
) -> None:
    """An answer: does the agent report the namespace, and may the hub use it?"""
    known = PlacedNamespaces()
    known.put("p", frozenset({"a"}))
    found = known.concerned(a_cluster(consent=old), a_cluster(consent=new))
    assert found == ({"p"} if looks else set())

"""Role bindings: the bounds of each, how many a hub takes, and what stays when one is replaced."""

from typing import Any

import pytest

from hub.services.access import bindings
from hub.services.access.bindings import LONGEST, MOST, MOST_NAMES, WantedBinding
from hub.store import access, audit
from hub.store.engine import Database
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from tests.store.build import START, call, opened

pytestmark = pytest.mark.anyio


def wanted(name: Any = "b", role: Any = "viewer", **said: Any) -> WantedBinding:
    """A binding of user ana; keywords replace its fields."""
    return WantedBinding(name, role, **{"users": ["ana"], **said})


def many(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


async def refused(db: Database, given: WantedBinding) -> tuple[str, str]:
    """Code and field of a refusal; no binding is left."""
    with pytest.raises(Rejected) as found:
        await db.write(call(bindings.bind, given, "root"))
    assert (await db.read(bindings.list_bindings))["items"] == []
    return str(found.value.code), found.value.field


async def test_a_hub_keeps_so_many_bindings_and_replaces_any_of_them(tmp_path):
    """One more is refused; at the bound each may be replaced, and room that one leaves is taken."""
    async with opened(tmp_path, ManualClock(START)) as db:

        def fill(tx: Any) -> None:
            bindings.bind(tx, wanted("n0"), "root")
            (row,) = access.every(tx)
            for name in many(MOST)[1:]:
                access.put(tx, row._replace(name=name))

        await db.write(fill)
        with pytest.raises(Rejected) as found:
            await db.write(call(bindings.bind, wanted("other"), "root"))
        assert found.value.code == RejectCode.TOO_MANY_ITEMS
        await db.write(call(bindings.bind, wanted("n0", users=["ben"]), "root"))
        await db.write(call(bindings.unbind, "n1", "root"))
        await db.write(call(bindings.bind, wanted("other"), "root"))
        assert len((await db.read(bindings.list_bindings))["items"]) == MOST


@pytest.mark.parametrize("field", ["users", "groups", "namespaces", "queues", "priority_classes"])
async def test_each_list_of_a_binding_has_its_bounds(tmp_path, field):
    """Of names in it and of characters in a name; at the bound it is taken."""
    of = {"role": "submitter", "users": ["ana"]}
    told = "priorityClasses" if field == "priority_classes" else field
    async with opened(tmp_path, ManualClock(START)) as db:
        for names, code in (
            (many(MOST_NAMES + 1), RejectCode.TOO_MANY_ITEMS),
            (["x" * (LONGEST + 1)], RejectCode.INVALID_VALUE),
            ([""], RejectCode.INVALID_VALUE),
            (["a\nb"], RejectCode.INVALID_VALUE),
        ):
            assert await refused(db, wanted(**{**of, field: names})) == (str(code), told)
        made = await db.write(
            call(bindings.bind, wanted(**{**of, field: many(MOST_NAMES)}), "root")
        )
        assert made[told] == sorted(many(MOST_NAMES))


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("namespaces", "namespaces"),
        ("queues", "queues"),
        ("priority_classes", "priorityClasses"),
    ],
)
async def test_an_empty_list_is_not_taken_for_all(tmp_path, field, told):
    """A field that is left out is for all; the hub refuses an empty list."""
    async with opened(tmp_path, ManualClock(START)) as db:
        given = wanted(role="submitter", **{field: []})
        assert await refused(db, given) == (str(RejectCode.REQUIRED), told)


async def test_a_binding_that_is_replaced_keeps_who_made_it_and_when(tmp_path):
    """The audit names the principal that replaced it; the same binding again is a no-op."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        first = await db.write(call(bindings.bind, wanted(), "root"))
        clock.advance(60)
        again = await db.write(call(bindings.bind, wanted(role="submitter"), "eve"))
        assert (again["createdBy"], again["createdAt"]) == ("root", first["createdAt"])
        assert again["role"] == "submitter"
        await db.write(call(bindings.bind, wanted(role="submitter"), "zoe"))
        noted = await db.read(audit.list_entries)
        assert [(each.principal, each.verb) for each in noted] == [
            ("eve", "bind"),
            ("root", "bind"),
        ]

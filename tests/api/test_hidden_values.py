"""Values of environment variables in logs: hidden all, or nothing is shown; and nobody waits for it."""

import asyncio

import pytest

from hub.services.access import bindings, people
from hub.services.access.bindings import WantedBinding
from tests import waiting
from tests.api.streaming import a_line, records, running_world, with_values

pytestmark = pytest.mark.anyio


async def test_the_shortest_of_many_values_is_hidden(tmp_path):
    """However many longer ones there are."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, [*(f"a-longer-value-{n}" for n in range(300)), "s3cret"])
        reading = w.ask(who="viewer")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("it is s3cret")], end={"code": "Ended"})
        assert records(await reading)[0]["line"] == "it is [hidden]"


async def test_of_a_value_that_has_another_in_it_nothing_is_left(tmp_path):
    """The longer one is looked for first, wherever the two are in the manifest."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, ["open", "open sesame", "sesame"])
        reading = w.ask(who="viewer")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("it is open sesame!")], end={"code": "Ended"})
        assert records(await reading)[0]["line"] == "it is [hidden]!"


async def test_each_line_of_a_value_is_hidden(tmp_path):
    """A key of many lines is written line by line; what is around a line is no part of it."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, ["BEGIN KEY\n  c2VjcmV0\r\nb25lCg==\n"])
        reading = w.ask(who="viewer")
        asked = await w.question()
        lines = [a_line(text) for text in ("BEGIN KEY", "c2VjcmV0", "it ends in b25lCg==.")]
        await w.bring(asked, 1, lines=lines, end={"code": "Ended"})
        told = [each["line"] for each in records(await reading)[:-1]]
        assert told == ["[hidden]", "[hidden]", "it ends in [hidden]."]


async def test_where_there_is_too_much_to_hide_nothing_is_shown(tmp_path):
    """To who may not read it; an administrator is shown all."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, [f"value-{n}" for n in range(501)])
        for what in ("logs", "pods"):
            reply = await w.ask(what, who="viewer")
            assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden")
        reading = w.ask()
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("value-7")], end={"code": "Ended"})
        assert records(await reading)[0]["line"] == "value-7"


async def test_long_lines_are_looked_through_beside_the_event_loop(tmp_path):
    """A part as large as an agent may send, and hundreds of values: others go on meanwhile."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, [f"{'a' * 20}{n}" for n in range(300)])
        reading = w.ask(who="viewer")
        asked = await w.question()
        brought = asyncio.create_task(
            w.bring(asked, 1, lines=[a_line("a" * 16_000)] * 40, end={"code": "Ended"})
        )
        await brought
        others = 0
        while not reading.done():
            await waiting.turns()
            others += 1
        assert len(records(await reading)) == 41
        assert others > 100


async def test_an_administrator_no_more_reads_no_further(tmp_path):
    """Whose role becomes a viewer's while a stream is open: values of variables would be hidden by now."""
    async with running_world(tmp_path) as w:
        made = await w.hub.hub.write(people.issue, "user", "root", "test")
        headers = {"Authorization": f"Bearer {made['token']}"}
        for role, seen in (("cluster-administrator", "open sesame"), ("viewer", "[hidden]")):
            given = WantedBinding("root", role, users=["root"])
            await w.hub.hub.write(bindings.bind, given, "test")
            asking = w.http["viewer"].get(
                f"/v1/jobs/{w.uid}/logs", params={"follow": "true"}, headers=headers
            )
            reading = asyncio.create_task(asking)
            asked = await w.question()
            await w.bring(asked, 1, lines=[a_line("open sesame")])
            await waiting.turns(50)
            given = WantedBinding("root", "viewer", users=["root"])
            await w.hub.hub.write(bindings.bind, given, "test")
            w.hub.clock.advance(6)
            await w.bring(asked, 2, lines=[a_line("more")])
            if role != "viewer":
                await waiting.eventually(reading.done)
            await w.bring(asked, 3, lines=[a_line("open sesame")], end={"code": "Ended"})
            *lines, last = records(await reading)
            assert lines[0]["line"] == seen
            assert last["end"]["code"] == ("Forbidden" if role != "viewer" else "Ended")
            assert [each["line"] for each in lines].count("open sesame") == (role != "viewer")

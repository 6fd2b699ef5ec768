"""Few lists are read at once, and persons take turns: a dozen of one person delay another by one at most."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from hub.services.access.turns import ClientGone, FairTurns, Presence
from shared.errors import Rejected
from tests import waiting

pytestmark = pytest.mark.anyio


class Readers:
    """Callers that read until `end`, in the order of their turns."""

    def __init__(self, turns: FairTurns) -> None:
        self._turns = turns
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, *names: str) -> None:
        """`ada-1` is a request of ada."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._read(name))
        await waiting.turns(4)

    async def end(self, *names: str) -> None:
        """They have read."""
        for name in names:
            self._ends[name].set()
            await waiting.turns(4)

    async def _read(self, name: str) -> None:
        async with self._turns.turn(name.partition("-")[0]):
            self.begun.append(name)
            await self._ends[name].wait()


@contextlib.asynccontextmanager
async def readers(turns: FairTurns) -> AsyncIterator[Readers]:
    """For the length of the block."""
    made = Readers(turns)
    try:
        yield made
    finally:
        for each in made.tasks.values():
            each.cancel()
        await asyncio.gather(*made.tasks.values(), return_exceptions=True)


async def test_one_person_reads_one_list_at_a_time():
    """The second begins when the first ends."""
    async with readers(FairTurns(2, 1)) as those:
        await those.start("ada-1", "ada-2")
        assert those.begun == ["ada-1"]
        await those.end("ada-1")
        assert those.begun == ["ada-1", "ada-2"]


async def test_another_person_does_not_wait_for_the_first_ones_line():
    """There is room for two persons."""
    async with readers(FairTurns(2, 1)) as those:
        await those.start("ada-1", "ada-2", "ada-3", "bob-1")
        assert those.begun == ["ada-1", "bob-1"]


async def test_persons_take_turns():
    """Each waiting person gets one turn before any person gets a second."""
    async with readers(FairTurns(1, 1)) as those:
        await those.start("ada-1", "ada-2", "ada-3", "bob-1", "bob-2", "eve-1")
        for name in ("ada-1", "ada-2", "bob-1", "eve-1", "ada-3"):
            assert those.begun[-1] == name
            await those.end(name)
        assert those.begun[-1] == "bob-2"


async def test_a_line_is_bounded():
    """One more than may wait is refused: TooManyRequests; others are let in."""
    turns = FairTurns(2, 1, waiting=2)
    async with readers(turns) as those:
        await those.start("ada-1", "ada-2", "ada-3")
        with pytest.raises(Rejected) as refusal:
            async with turns.turn("ada"):
                pass
        assert refusal.value.code == "TooManyRequests"
        await those.start("bob-1")
        assert those.begun == ["ada-1", "bob-1"]


async def test_who_leaves_the_line_takes_no_turn():
    """The next one follows."""
    async with readers(FairTurns(1, 1)) as those:
        await those.start("ada-1", "bob-1", "eve-1")
        those.tasks["bob-1"].cancel()
        await waiting.turns(4)
        await those.end("ada-1")
        assert those.begun == ["ada-1", "eve-1"]


async def test_a_turn_that_comes_to_who_has_just_left_goes_on():
    """Cancelled in the step in which the turn was given, it gives it back."""
    async with readers(FairTurns(1, 1)) as those:
        await those.start("ada-1", "bob-1", "eve-1")
        those._ends["ada-1"].set()
        await waiting.turns()  # ada has left, bob has not gone on
        those.tasks["bob-1"].cancel()
        await waiting.turns(4)
        assert those.begun == ["ada-1", "eve-1"]


async def test_a_turn_ends_with_what_fails():
    """An error in a list does not keep its turn."""
    turns = FairTurns(1, 1)
    with pytest.raises(ValueError, match="odd"):
        async with turns.turn("ada"):
            raise ValueError("odd")
    async with turns.turn("bob"):
        pass


async def test_a_cancelled_waiter_takes_no_turn():
    """It is cancelled in the pass of the event loop in which a holder leaves: the next one reads."""
    async with readers(FairTurns(1, 1)) as those:
        await those.start("ada-1", "bob-1", "eve-1")
        those._ends["ada-1"].set()
        those.tasks["bob-1"].cancel()
        await waiting.turns(8)
        assert those.begun == ["ada-1", "eve-1"]
        await those.end("eve-1")
        await those.start("ada-2")
        assert those.begun[-1] == "ada-2"


async def test_a_client_that_leaves_gives_up_its_place():
    """It waits no longer, its place in the line is free, and the next one follows."""
    turns, client = FairTurns(1, 1, waiting=1), Presence()
    async with readers(turns) as those:
        await those.start("ada-1")
        gone = asyncio.create_task(_reads_nothing(turns, client))
        await waiting.turns(4)
        client.leave()
        with pytest.raises(ClientGone):
            await gone
        await those.start("ada-2")
        await those.end("ada-1")
        assert those.begun == ["ada-1", "ada-2"]


async def test_a_turn_that_comes_as_the_client_leaves_goes_to_the_next():
    """In the same pass of the event loop."""
    turns, client = FairTurns(1, 1), Presence()
    async with readers(turns) as those:
        await those.start("ada-1")
        gone = asyncio.create_task(_reads_nothing(turns, client))
        await waiting.turns(4)
        await those.start("bob-1")
        those._ends["ada-1"].set()
        await waiting.turns()
        client.leave()
        await waiting.turns(8)
        assert those.begun == ["ada-1", "bob-1"]
        assert isinstance(gone.exception(), ClientGone)


async def test_nothing_is_begun_for_a_client_that_has_left():
    """Not even where there is room."""
    client = Presence()
    client.leave()
    with pytest.raises(ClientGone):
        await _reads_nothing(FairTurns(1, 1), client)


async def test_a_reset_that_came_with_the_request_is_seen_before_the_work():
    """There is room at once, and the connection closes in the next passes of the event loop."""
    turns, client = FairTurns(1, 1), Presence()
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: loop.call_soon(client.leave))
    with pytest.raises(ClientGone):
        await _reads_nothing(turns, client)
    async with turns.turn("ada"):
        pass


async def _reads_nothing(turns: FairTurns, client: Presence) -> None:
    async with turns.turn("ada", client):
        raise AssertionError("its client has left")

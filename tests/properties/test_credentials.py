"""Whatever is lost or late, and whoever ends in between: an honest agent is let in, and taken for no thief.

Two hubs on one database, each with what it remembers; one agent that saves before it uses.
"""

import asyncio
import datetime as dt
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hub.services.access import credentials
from hub.services.access.credentials import Authenticator, Principal
from hub.services.access.rotation import Rotation
from hub.store import clusters
from shared.clock import ManualClock
from tests.examples import Contents, examples, sample
from tests.store.build import START, a_member, call, opened

LIFE, OVERLAP, CACHE_S = dt.timedelta(hours=3), dt.timedelta(minutes=10), 5.0
HUBS = st.integers(0, 1)
Step = tuple[str, int, float]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "sync",
                "sync",
                "reply lost",
                "dies before it saves",
                "dies before it uses",
                "leaves one under way",
                "leaves one under way",
                "what is under way comes",
                "what is under way comes",
            ]
        ),
        HUBS,
        st.sampled_from([0.3, 11, 11, 100, 590]),  # seconds that pass before it
    ),
    min_size=10,
    max_size=40,
)


@pytest.mark.timeout(400)  # many stores, each on a disk that others use too
@examples(40)
@given(STEPS)
def test_an_honest_agent_is_always_let_in(steps: Sequence[Step]) -> None:
    """As long as it is heard before its credential ends; nothing that it does cordons its cluster."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), steps))


def test_histories_replace_credentials() -> None:
    """Half of them do, and in some one that was replaced comes late."""
    replaced, late = Contents(), Contents()

    @sample(60)
    @given(STEPS)
    def play(steps: Sequence[Step]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            counts = asyncio.run(_play(Path(folder), steps))
        replaced.note(counts[0])
        late.note(counts[1])

    play()
    assert replaced.are_in(0.5), replaced.seen
    assert late.seen[True]


async def _play(folder: Path, steps: Sequence[Step]) -> tuple[int, int]:
    clock = ManualClock(START)
    async with opened(folder, clock) as db:
        await db.write(call(clusters.add, a_member("c1")))
        until = clock.now() + LIFE
        secret = credentials.hashed("mine")
        held = await db.write(call(credentials.admit_agent, "c1", secret, until)) + ".mine"
        hubs = [
            (Authenticator(db, clock, CACHE_S), Rotation(db, clock, LIFE, OVERLAP))
            for _ in range(2)
        ]
        hubs[1][0]._news.close()  # it hears no news of what the other has written
        ends_at, under_way, replaced, late = until, [], 0, 0
        clock.advance(LIFE.total_seconds() * 0.67)
        for step, hub, pause_s in steps:
            clock.advance(pause_s)
            if clock.now() >= ends_at:
                break  # cut off for so long that a join token is needed
            known, rotation = hubs[hub]
            if step == "leaves one under way":
                under_way.append((clock.now(), held))
                continue
            if step == "what is under way comes":
                for sent_at, old in under_way:
                    if clock.now() - sent_at <= OVERLAP:
                        late += old != held
                        who = await known.authenticate(old)
                        if who is None:
                            await rotation.refusal(old)
                        else:
                            await rotation.successor(who)  # whose reply nobody reads any more
                under_way = []
                continue
            who = await known.authenticate(held)
            assert isinstance(who, Principal), (await rotation.refusal(held))[0]
            given_now = await rotation.successor(who)
            if step == "reply lost" or given_now is None:
                continue
            if step != "dies before it saves":
                held, ends_at, replaced = given_now, clock.now() + LIFE, replaced + 1
        assert not (await db.read(call(clusters.get, "c1"))).cordoned
    return replaced, late

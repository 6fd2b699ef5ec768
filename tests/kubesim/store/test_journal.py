"""What a simulated cluster keeps over restarts: every object, and a bounded history of changes."""

import asyncio
import sqlite3
from typing import Any

from hypothesis import given, strategies as st

from shared.clock import ManualClock
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.store.journal import Journal
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import WireCache
from shared.kubesim.store.watch import WatchHub
from tests.examples import examples

KEPT = 30
NAMES = [f"c{n}" for n in range(12)]
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "write", "delete", "commit"]), st.sampled_from(NAMES)),
    max_size=120,
)


def opened(path):
    """A store and its journal, as a cluster has them at its start."""
    store = ObjectStore(built_in_registry(), ManualClock(), strategies=built_in_strategies())
    journal = Journal(path, store, WatchHub(store), WireCache(), kept=KEPT)
    journal.load()
    journal.start()
    return store, journal


def held(store):
    """The ConfigMaps by name."""
    return {obj["metadata"]["name"]: obj for obj in store.list("configmaps")}


async def lived(path, steps):
    """One life of a cluster; what it held at its start and at its end."""
    store, journal = opened(path)
    begun = held(store)
    for number, (step, name) in enumerate(steps):
        present = store.get("configmaps", "default", name)
        changed = {"data": {"step": str(number)}}
        if step == "commit":
            await journal.committed(store.rv)
        elif present is None:
            store.create("configmaps", {"metadata": {"name": name, "namespace": "default"}})
        elif step == "delete":
            store.delete("configmaps", "default", name)
        else:
            store.update("configmaps", {**present, **changed})
    await journal.stop()
    return begun, held(store)


@examples(40)
@given(lives=st.lists(STEPS, min_size=2, max_size=5))
def test_a_restart_finds_every_object_as_it_was(tmp_path_factory, lives):
    """Whatever was written, deleted and pruned meanwhile, no object is lost and none comes back."""
    path = tmp_path_factory.mktemp("journal") / "j.sqlite"
    last: dict[str, Any] = {}
    for steps in lives:
        begun, ended = asyncio.run(lived(path, steps))
        assert begun == last
        last = ended


def test_the_file_keeps_objects_and_a_bounded_history(tmp_path):
    """Changes older than the kept history go, except the newest of each object."""
    path = tmp_path / "j.sqlite"
    old = [("write", name) for name in NAMES[:4]]
    busy = [("write", NAMES[5]), ("commit", "")] * (10 * KEPT)
    asyncio.run(lived(path, old + busy))
    with sqlite3.connect(path) as database:
        ((rows,),) = database.execute("SELECT count(*) FROM changes")
    assert rows <= len(old) + 2 * KEPT

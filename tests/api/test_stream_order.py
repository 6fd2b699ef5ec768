"""Streams under many commits: everything is told, under a revision that has it, and nothing twice."""

import json
import re
from pathlib import Path

import pytest

from tests.api.listening import Line, Listening, a_submitted, listening

pytestmark = pytest.mark.anyio
MANY = 25
EVENT = re.compile(rb"id: (\d+)\ndata: (\{.*?\})\n\n")


async def follow(hub: Listening, path: str) -> Line:
    line = await hub.line()
    await line.say(hub.head("GET", path))
    assert (await line.hear()).status == 200
    await line.hear_until(b": following")
    return line


async def told_until(line: Line, uid: str) -> dict[str, int]:
    """Under which revision each workload was first told, up to the event that has `uid`."""
    text = await line.hear_until(uid.encode()) + await line.hear_until(b"\n\n")
    found: dict[str, int] = {}
    for revision, data in EVENT.findall(text):
        told = json.loads(data)
        assert told["revision"] == int(revision)
        items = told.get("items")
        uids = told["keys"] if items is None else [item["uid"] for item in items]
        for each in uids if told.get("kind", "workloads") == "workloads" else ():
            found.setdefault(each, int(revision))
    return found


@pytest.mark.parametrize("path", ["/v1/changes", "/v1/workloads:watch"])
async def test_nothing_is_lost_however_fast_commits_come(tmp_path: Path, path: str) -> None:
    """Commits that are told together have the revision of the last: who goes on from it misses none."""
    async with listening(tmp_path) as hub:
        line = await follow(hub, path)
        committed = {}
        for number in range(MANY):
            uid = await a_submitted(hub, f"j{number}")
            committed[uid] = hub.db.revision
        found = await told_until(line, uid)
        assert found.keys() == committed.keys()
        assert all(found[uid] >= revision for uid, revision in committed.items())


@pytest.mark.parametrize("path", ["/v1/changes", "/v1/workloads:watch"])
async def test_whoever_goes_on_is_told_what_came_after(tmp_path: Path, path: str) -> None:
    """Of what was kept first, then of what comes; that very revision is not told again."""
    async with listening(tmp_path) as hub:
        before = await a_submitted(hub, "before")
        seen = hub.db.revision
        missed = await a_submitted(hub, "missed")
        line = await follow(hub, f"{path}?revision={seen}")
        later = await a_submitted(hub, "later")
        found = await told_until(line, later)
        assert before not in found
        assert found[missed] <= found[later]
        assert found[missed] > seen

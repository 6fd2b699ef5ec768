"""Rollouts by REST: what is listed and shown, and what people do to runs."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hub.api.app import create_app
from hub.services.access import credentials
from hub.store import objects
from hub.store.transaction import Transaction
from roadstead.models.rollouts import Rollout
from tests.cli.records import Seen
from tests.openapi.conformance import Conformance
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, Fleet
from tests.services.placements.runs import (
    GREEN,
    MEMBERS,
    STRATEGY,
    WITH_TASKS,
    colors,
    roll,
    row_of,
    run,
    started,
)

pytestmark = pytest.mark.anyio


class People:
    """Somebody with an administrator's token."""

    def __init__(self, fleet: Fleet, http: httpx.AsyncClient) -> None:
        self.fleet, self.http = fleet, http
        self.seen = Seen()

    async def show(self, name: str) -> Any:
        found = await self._answer(await self.http.get(f"/v1/rollouts/{name}"), 200)
        self.seen.hold(Rollout, found)
        assert self.seen.faults == []
        return found

    async def names(self) -> list[tuple[str, str]]:
        listed = await self._answer(await self.http.get("/v1/rollouts"), 200)
        return [(each["name"], each["reason"]) for each in listed["items"]]

    async def do(self, verb: str, name: str, status: int = 200, **asked: str) -> Any:
        body = asked or None
        reply = await self.http.post(f"/v1/rollouts/shop/{name}/{verb}", json=body)
        answer = await self._answer(reply, status)
        await self.fleet.turn()
        return answer

    async def audited(self) -> list[str]:
        """What was written down, oldest first."""
        items = (await self.http.get("/v1/audit")).json()["items"]
        assert {each["principal"] for each in items} <= {"ann"}
        return [each["verb"] for each in reversed(items)]

    async def _answer(self, reply: httpx.Response, status: int) -> Any:
        assert reply.status_code == status, reply.text
        return reply.json()


@contextlib.asynccontextmanager
async def people(hub: Running, fleet: Fleet) -> AsyncIterator[People]:
    app = create_app(hub.hub)
    token = await hub.write(lambda tx: credentials.issue_bearer(tx, "administrator", "ann", ""))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://hub",
        headers={"Authorization": f"Bearer {token}"},
        event_hooks={"response": [Conformance(app.routes).check]},
    ) as http:
        yield People(fleet, http)


async def test_a_run_is_listed_shown_and_approved(tmp_path: Path):
    """Stage by stage, with what waits; the approval stands in the audit."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, WITH_TASKS, run("first"))
        await roll(fleet)
        async with people(hub, fleet) as they:
            assert await they.names() == [("first", "UpdateRunWaiting")]
            shown = await they.show("shop/first")
            assert (shown["updated"], shown["clusters"], shown["version"]) == (2, 4, "0")
            assert shown["waitsFor"] == ["first-after-canary"]
            canary, rest, last = shown["stages"]
            assert [each["name"] for each in canary["clusters"]] == ["m1", "m2"]
            assert (canary["reason"], rest["reason"]) == ("StageUpdatingWaiting", "NotStarted")
            assert (last["name"], last["clusters"]) == ("kubernetes-fleet.io/deleteStage", [])
            assert [(t["type"], t["done"]) for t in canary["tasks"]] == [
                ("Approval", False), ("TimedWait", False),
            ]  # fmt: skip
            refused = await they.do("approve", "first", 422, stage="rest")
            assert "nothing waits there; waiting: first-after-canary" in refused["detail"]
            refused = await they.do("approve", "first", 422, stage="none")
            assert "its stages are canary, rest" in refused["detail"]
            answer = await they.do("approve", "first", stage="canary", when="after")
            assert answer["waitsFor"] == []
            assert answer["stages"][0]["tasks"][0]["done"]
            assert answer["reason"] == "UpdateRunProgressing"
            assert (await they.do("approve", "first", 422))["code"] == "InvalidState"
            shown = await they.show("shop/first")
            assert shown["stages"][0]["tasks"][0]["done"]
            hub.clock.advance(600)
            await roll(fleet)
            assert await they.names() == [("first", "UpdateRunSucceeded")]
            assert await they.audited() == ["approve"]


async def test_stop_resume_and_go_back(tmp_path: Path):
    """Going back is a new run with what the run before brought; it takes over."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet)
        await fleet.apply(GREEN)
        hub.clock.advance(1)
        await fleet.apply(run("second", state="Initialize"))
        async with people(hub, fleet) as they:
            assert (await they.do("stop", "second", 422))["code"] == "InvalidState"
            await they.do("resume", "second")
            assert await colors(fleet) == "gbbb"
            assert (await they.do("stop", "second"))["reason"] == "UpdateRunStopping"
            await they.do("stop", "second", 422)
            await roll(fleet, 2)
            assert (await they.show("shop/second"))["reason"] == "UpdateRunStopped"
            assert await colors(fleet) == "gbbb"
            assert (await they.do("resume", "second"))["reason"] == "UpdateRunProgressing"
            await they.do("resume", "second", 422)
            assert await colors(fleet) == "ggbb"
            hub.clock.advance(1)
            answer = await they.do("rollback", "second")
            assert answer["name"] == "second-back-1"
            assert (await they.show("shop/second"))["message"].endswith("is newer, took over")
            await roll(fleet)
            assert await colors(fleet) == "bbbb"
            hub.clock.advance(1)
            assert (await they.do("rollback", "second", version="1"))["name"] == "second-back-2"
            await roll(fleet)
            assert await colors(fleet) == "gggg"
            refusal = await they.do("rollback", "second", 422, version="9")
            assert refusal["detail"] == "version 9 is not kept; kept are 0, 1"
            assert (await they.do("stop", "absent", 404))["code"] == "NotFound"
            told = ["resume", "stop", "resume", "rollback", "rollback"]
            assert await they.audited() == told, "one row for each that was carried out"


async def test_going_back_passes_over_what_never_succeeded(tmp_path: Path):
    """Of runs before this one the newest that succeeded counts: its version stood everywhere."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet)
        for name, color in (("second", "green"), ("third", "red")):
            await fleet.apply(GREEN.replace("green", color))
            hub.clock.advance(1)
            await fleet.apply(run(name))
        await roll(fleet)
        assert await colors(fleet) == "rrrr"
        async with people(hub, fleet) as they:
            assert (await they.show("shop/second"))["reason"] == "UpdateRunFailed"
            hub.clock.advance(1)
            await they.do("rollback", "third")
            assert (await they.show("shop/third-back-1"))["version"] == "0"
            await roll(fleet)
            assert await colors(fleet) == "bbbb"


async def test_what_stopped_by_itself_is_resumed(tmp_path: Path):
    """By REST too, also where kubectl made the run: the spec need not change for that."""
    async with running_hub(tmp_path) as hub:
        strict = STRATEGY.replace("spec:\n", "spec:\n  stopAfterFailedClusters: 1\n")
        fleet = await started(hub, strict, run("first"))
        await fleet.sync("m1", phase="Failed", reason="NameConflict", message="it is Bob's")
        row = await row_of(fleet, "first")

        def by_kubectl(tx: Transaction) -> None:
            objects.change(tx, row.uid, origin="hub-cluster")

        await hub.write(by_kubectl)
        async with people(hub, fleet) as they:
            assert (await they.show("shop/first"))["stoppedByItself"]
            refusal = await they.do("stop", "first", 409)
            assert refusal["code"] == "OwnedElsewhere"
            assert "kubectl patch stagedupdaterun first -n shop" in refusal["detail"]
            await they.do("resume", "first")
            shown = await they.show("shop/first")
            assert (shown["stoppedByItself"], shown["reason"]) == (False, "UpdateRunProgressing")
            assert shown["stages"][0]["clusters"][0]["reason"] == "ClusterUpdatingFailed"


async def test_placements_that_roll_out_by_themselves_are_listed_meanwhile(tmp_path: Path):
    """With what each cluster waits for; afterwards the list is empty."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, *MEMBERS)
        await fleet.apply(CONFIG)
        await fleet.sync()
        await fleet.apply(CONFIG.replace("color: blue", "color: green"))
        async with people(hub, fleet) as they:
            assert await they.names() == [("everywhere", "RolloutNotStartedYet")]
            shown = await they.show("shop/everywhere")
            assert (shown["kind"], shown["updated"]) == ("ResourcePlacement", 1)
            assert [each["version"] for each in shown["clusterVersions"]] == ["1", "0", "0", "0"]
            assert "m1 must become available first" in shown["clusterVersions"][1]["message"]
            await roll(fleet)
            assert await they.names() == []

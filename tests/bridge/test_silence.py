"""A hub cluster that does not answer is said to be silent until it does; nothing is stopped by that."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hub.bridge.bridge import Bridge
from hub.bridge.condition import BridgeCondition
from hub.services.context import hub_cluster
from shared.kube import errors
from shared.kubesim.cluster import SimCluster
from tests.bridge.hub_cluster import until
from tests.services.members.hubs import Running, running_hub

pytestmark = pytest.mark.anyio


class Answering:
    """An API server that answers the questions for its health as it is told."""

    def __init__(self) -> None:
        self.answers = True

    async def probe(self, timeout_s: float) -> None:
        if not self.answers:
            raise errors.Unavailable(0, "TimedOut", f"no answer within {timeout_s:g} s")


async def shown(hub: Running) -> dict[str, Any]:
    return await hub.hub.read(hub_cluster.show)


async def test_two_questions_without_an_answer_and_one_with(tmp_path: Path):
    """One that is late is no silence; the first answer ends it."""
    async with running_hub(tmp_path) as hub:
        server: Any = Answering()
        standing = BridgeCondition(hub.hub, lambda: 1)
        server.answers = False
        await standing.ask(server)
        assert (await shown(hub))["reason"] == ""
        await standing.ask(server)
        told = await shown(hub)
        assert (told["reason"], told["running"]) == ("HubClusterSilent", False)
        assert "no answer" in told["message"]
        assert not standing.stopped
        server.answers = True
        await standing.ask(server)
        told = await shown(hub)
        assert (told["reason"], told["connected"]) == ("Running", True)


async def test_an_answer_between_two_that_are_late_begins_the_count_anew(tmp_path: Path):
    """Questions without an answer count in a row: a slow hour is no silence."""
    async with running_hub(tmp_path) as hub:
        server: Any = Answering()
        standing = BridgeCondition(hub.hub, lambda: 1)
        for answers in (False, True, False, True, False):
            server.answers = answers
            await standing.ask(server)
        assert (await shown(hub))["reason"] == ""


async def test_a_stop_says_more_than_silence(tmp_path: Path):
    """What an administrator has to decide stays what is shown."""
    async with running_hub(tmp_path) as hub:
        server: Any = Answering()
        standing = BridgeCondition(hub.hub, lambda: 1)
        await standing.stop("TooManyDeletions", "9 of 10 are gone")
        server.answers = False
        await standing.ask(server)
        await standing.ask(server)
        assert (await shown(hub))["reason"] == "TooManyDeletions"


async def test_a_kubeconfig_that_is_missing_is_named(tmp_path: Path):
    """The file may come later: the bridge tries again, and says what it waits for."""
    async with running_hub(tmp_path) as hub:
        bridge = Bridge(hub.hub, lambda: 1, tmp_path / "absent")
        running = asyncio.create_task(bridge.run())
        try:

            async def told() -> bool:
                return "there is no file" in (await shown(hub))["message"]

            await until(told)
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


async def test_a_hub_that_runs_in_no_cluster_says_so(tmp_path: Path):
    """Without a kubeconfig the bridge goes by the account of its pod, and names that where there is none."""
    async with running_hub(tmp_path) as hub:
        running = asyncio.create_task(Bridge(hub.hub, lambda: 1, None).run())
        try:

            async def told() -> bool:
                return "in-cluster configuration" in (await shown(hub))["message"]

            await until(told)
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


async def test_a_hub_cluster_that_refuses_our_kinds_is_asked_ever_more_seldom(tmp_path: Path):
    """It answers, but nothing can be done there: the attempts count on, and the waits grow."""
    cluster = SimCluster("hub", hub=True)
    await cluster.start()
    cluster.faults.add("403", resource="customresourcedefinitions", count=0)
    (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
    async with running_hub(tmp_path) as hub:
        bridge = Bridge(hub.hub, lambda: 1, tmp_path / "kubeconfig")
        with capture_logs() as told:
            running = asyncio.create_task(bridge.run())

            async def tried_again() -> bool:
                hub.clock.advance(60)
                return any(entry.get("times") == 3 for entry in told)

            try:
                await until(tried_again)
            finally:
                running.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await running
                await cluster.stop()

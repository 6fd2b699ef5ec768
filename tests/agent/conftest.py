"""A simulated member, a scripted hub and an agent between them, all in one event loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.config import Settings
from agent.main import Agent
from shared import labels
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.agent.scripted_hub import HUB_ID, ScriptedHub, eventually

POOLS = [
    {"name": "cpu", "count": 2, "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
]


class Member:
    """One cluster with its agent; `kube` is a second client, for what the test does itself."""

    def __init__(self, folder: Path, cluster: SimCluster, kube: KubeClient) -> None:
        self.folder = folder
        self.cluster = cluster
        self.kube = kube
        self.hub = ScriptedHub()
        self.agent: Agent | None = None
        self.running: asyncio.Task[int] | None = None

    def settings(self, **changes: object) -> Settings:
        token = self.folder / "join.token"
        token.write_text("join-me\n")
        given: dict[str, object] = {
            "hub_url": "http://hub",
            "credential": self.folder / "credential.json",
            "kubeconfig": self.folder / "kubeconfig",
            "join_token": token,
            "lease_s": 1.0,
            **changes,
        }
        return Settings(**given)  # type: ignore[arg-type]  # built from a dict on purpose

    def start(self, **changes: object) -> Agent:
        """Start the agent (again)."""
        self.agent = Agent(self.settings(**changes), transport=self.hub)
        self.running = asyncio.create_task(self.agent.run())
        return self.agent

    async def stop(self) -> None:
        """Stop the agent as SIGTERM does."""
        if self.running is not None:
            self.running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.running
            self.running = None

    async def namespace(self, name: str = "team", *, accept: bool = True) -> None:
        """A namespace of the member's own people, who let the hub take over what is in it."""
        marks = {labels.ACCEPT: HUB_ID} if accept else {}
        metadata = {"name": name, "labels": marks}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        await self.kube.create(body, field_manager="test")

    async def accept(self, name: str, accept: bool = True) -> None:
        """The member's people accept the hub in a namespace, or no longer."""
        await self.label(name, {labels.ACCEPT: HUB_ID if accept else None})

    async def label(self, name: str, marks: dict[str, str | None]) -> None:
        """The member's people label a namespace."""
        patch = {"metadata": {"labels": marks}}
        await self.kube.merge_patch("v1", "Namespace", "", name, patch, field_manager="people")

    async def annotate(self, name: str, notes: dict[str, str | None]) -> None:
        """The member's people annotate a namespace."""
        patch = {"metadata": {"annotations": notes}}
        await self.kube.merge_patch("v1", "Namespace", "", name, patch, field_manager="people")

    async def job(self, name: str = "job", namespace: str = "team") -> dict[str, Any]:
        return await self.kube.get("batch/v1", "Job", namespace, name)

    async def absent(self, name: str = "job", namespace: str = "team") -> None:
        """Wait until no Job has this name: it goes once the hub has acknowledged its end."""
        await eventually(lambda: self.cluster.store.get("jobs.batch", namespace, name) is None)


@pytest.fixture
async def member(tmp_path: Path) -> AsyncIterator[Member]:
    """A simulated member with two nodes, an agent that is not started yet, and namespace `team`."""
    cluster = SimCluster("member", pools=POOLS)
    await cluster.start()
    (tmp_path / "kubeconfig").write_text(cluster.kubeconfig_text())
    async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
        one = Member(tmp_path, cluster, kube)
        await one.namespace()
        try:
            yield one
        finally:
            await one.stop()
    await cluster.stop()

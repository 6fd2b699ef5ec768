"""Before the hub is uninstalled: its finalizer comes off objects that operators run, too."""

import contextlib
from pathlib import Path

import pytest

from hub.admin import finalizers
from shared import labels
from shared.kube.client import KubeClient
from tests.bridge.kinds import bridged, in_lab
from tests.services.kinds.fleet import a_jobset

pytestmark = pytest.mark.anyio


async def test_objects_of_the_dispatched_kinds_are_released(tmp_path: Path, monkeypatch):
    """Held on the hub cluster by the hub that gave them to members, as Jobs are."""
    async with bridged(tmp_path) as it:
        made = await it.create(in_lab(a_jobset(), "managedBy"))
        await it.take()
        await it.level(made)
        await it.take()
        assert labels.FINALIZER in (await it.live(made))["metadata"]["finalizers"]

        async def connect(_path):
            return contextlib.nullcontext(it.kube)

        monkeypatch.setattr(KubeClient, "connect", staticmethod(connect))
        found = await finalizers._release(None, do=True, say=lambda _: None)
        assert [(each.kind, each.name) for each in found] == [("JobSet", "sweep")]
        assert labels.FINALIZER not in (await it.live(made))["metadata"].get("finalizers", [])

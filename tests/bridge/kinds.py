"""A simulated hub cluster that serves the dispatched kinds, and objects of these kinds on it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hub.bridge.work_kinds import WORK_KINDS
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import Transition
from hub.services.members.observe import ObservedReport, take_reports
from hub.store import workloads, works
from hub.store.records.workloads import move_of
from shared import labels
from tests.bridge.hub_cluster import FIELDS
from tests.bridge.parts import Parts, on_simulated
from tests.services.members.hubs import seen


def a_definition(group: str, version: str, kind: str) -> dict[str, Any]:
    """A CRD that takes anything, with a status of its own."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def in_lab(manifest: dict[str, Any], *path: str) -> dict[str, Any]:
    """The same in namespace `lab`, with managedBy at the path of its spec."""
    at = manifest["spec"]
    for step in path[:-1]:
        at = at.setdefault(step, {})
    if path:
        at[path[-1]] = labels.MULTIKUEUE_CONTROLLER
    manifest["metadata"]["namespace"] = "lab"
    return manifest


@contextlib.asynccontextmanager
async def bridged(folder: Path, *, policies: bool = True) -> AsyncIterator[Parts]:
    """A hub cluster that serves these kinds, and a LocalQueue `q` of the hub's in namespace `lab`."""
    async with on_simulated(folder, policies=policies) as (it, _):
        for kind in WORK_KINDS:
            made = a_definition(kind.group, kind.versions[0], kind.kind)
            await it.kube.create(made, field_manager=FIELDS)
            await it.sources.add(kind)
        await it.sources.synced()
        yield it


async def taken(it: Parts, made: dict[str, Any]) -> dict[str, Any]:
    """It is on the hub cluster, and the hub's."""
    obj = await it.create(made)
    await it.take()
    await it.level(obj)
    await it.take()
    assert await it.job(obj) is not None
    return obj


async def placed(it: Parts, uid: str) -> None:
    """The hub has placed it on m1, and its agent has the offer."""
    await it.hub.place(uid, "m1")
    options = {"cluster": "m1", "uid": uid, "options": ApplyOptions(), "hash": "h"}
    await it.hub.write(works.offer, [options])
    row = await it.hub.job(uid)
    moved = [move_of(uid, row.epoch, {})]
    assert await it.hub.write(workloads.transition, Transition.OFFER, moved) == [uid]


async def says(it: Parts, uid: str, **more: Any) -> None:
    """Its member's agent reports it."""
    entry = seen(uid, more.pop("phase", "Applied"), **more)
    (answer,) = await it.hub.write(take_reports, [ObservedReport("m1", [entry])])
    assert not answer.refused

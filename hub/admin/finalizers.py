"""Removes our finalizers from objects of the hub cluster before the hub is uninstalled.

A running hub removes each finalizer itself, once the object's effects are withdrawn. If no hub runs any
more they would keep objects, and their namespaces, from being deleted.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hub.bridge import kinds
from hub.bridge.kinds import Mirrored
from hub.bridge.work_kinds import WORK_KINDS
from shared import labels
from shared.documents import Json
from shared.finalizers import finalizers_of
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.release import let_go


class ClusterRefused(Exception):
    """The cluster does not answer, or does not let us look."""


@dataclass(frozen=True, slots=True)
class HeldObject:
    """One object; `why`: the cluster's answer if it could not be released, "" if it was, or may be."""

    kind: str
    namespace: str
    name: str
    why: str = ""


def release(
    kubeconfig: Path | None, *, do: bool, say: Callable[[HeldObject], None]
) -> list[HeldObject]:
    """Every object that carries our finalizer; without `do` nothing is changed. Raises ClusterRefused."""
    return asyncio.run(_release(kubeconfig, do=do, say=say))


async def _release(
    kubeconfig: Path | None, *, do: bool, say: Callable[[HeldObject], None]
) -> list[HeldObject]:
    found: list[HeldObject] = []
    try:
        async with await KubeClient.connect(kubeconfig) as client:
            for kind in (*(each for each in kinds.ALWAYS if each.finalized), *WORK_KINDS):
                for version, listed in await _held(client, kind):
                    one = await _let_go(client, kind, version, listed, do=do)
                    found.append(one)
                    say(one)
    except (errors.NotConfigured, errors.KubeError) as fault:
        raise ClusterRefused(str(fault)) from fault
    return found


async def _held(client: KubeClient, kind: Mirrored) -> list[tuple[str, Json]]:
    """The objects of a kind that carry it, in the first version that is served; none if none is."""
    for version in kind.versions:
        api_version = kind.api_version(version)
        try:
            listed = await client.list(api_version, kind.kind)
        except errors.NotFound:
            continue
        return [(api_version, each) for each in listed.items if _is_ours(each)]
    return []


def _is_ours(found: Json) -> bool:
    return labels.FINALIZER in finalizers_of(found)


async def _let_go(
    client: KubeClient, kind: Mirrored, api_version: str, listed: Json, *, do: bool
) -> HeldObject:
    """Take it off the object as it now is, and leave those of others."""
    metadata = listed["metadata"]
    one = HeldObject(kind.kind, metadata.get("namespace") or "", metadata["name"])
    if not do:
        return one
    where = api_version, kind.kind, one.namespace, one.name
    try:
        await let_go(client, where, metadata["uid"], labels.FINALIZER, labels.FIELD_MANAGER)
    except errors.KubeError as refusal:
        return HeldObject(one.kind, one.namespace, one.name, refusal.message)
    return one

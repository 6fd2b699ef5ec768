"""Installs our CustomResourceDefinitions on the hub cluster; those of others are left alone."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

import structlog

from shared import labels
from shared.clock import Clock
from shared.documents import Json
from shared.kinds.crds import OWNER, all_crds
from shared.kube import errors
from shared.kube.client import KubeClient

_VERSION: Final = "apiextensions.k8s.io/v1"
_KIND: Final = "CustomResourceDefinition"
_TRIES: Final = 50
_WAIT_S: Final = 0.1
log = structlog.get_logger(__name__)


async def install_crds(client: KubeClient, clock: Clock) -> list[str]:
    """Create what is missing, update what is ours; names of those that others own.

    A definition with another owner or a conversion webhook is never overwritten: its kind is used
    as it is served.
    """
    foreign: list[str] = []
    waiting: list[str] = []
    for crd in (await asyncio.to_thread(all_crds)).values():
        name = crd["metadata"]["name"]
        live = await _found_or_made(client, crd)
        if live is None:
            waiting.append(name)
        elif _is_foreign(live):
            foreign.append(name)
        elif _differs(crd, live):
            fresh = {**crd, "metadata": {**live["metadata"], **_labels(live)}}
            await client.replace(fresh, field_manager=labels.BRIDGE_FIELD_MANAGER)
            waiting.append(name)
    await _established(client, clock, waiting)
    if waiting:
        await client.server_resources(refresh=True)
    if foreign:
        log.warning("crds.foreign", names=foreign)
    return foreign


async def _found_or_made(client: KubeClient, crd: Json) -> Json | None:
    """The definition that is there; None if it was made now, by this hub or by one that starts beside it."""
    try:
        return await client.get(_VERSION, _KIND, "", crd["metadata"]["name"])
    except errors.NotFound:
        with contextlib.suppress(errors.AlreadyExists):
            await client.create(crd, field_manager=labels.BRIDGE_FIELD_MANAGER)
        return None


def _labels(live: Json) -> Json:
    return {"labels": {**(live["metadata"].get("labels") or {}), **OWNER}}


def _is_foreign(live: Json) -> bool:
    marks = live["metadata"].get("labels") or {}
    conversion = (live["spec"].get("conversion") or {}).get("strategy")
    return conversion == "Webhook" or any(marks.get(key) != value for key, value in OWNER.items())


def _differs(wanted: object, live: object) -> bool:
    """Does `live` lack something of the definition? Defaults that the server adds are no difference."""
    if isinstance(wanted, dict):
        return not isinstance(live, dict) or any(
            _differs(value, live.get(key))
            for key, value in wanted.items()
            if key not in {"metadata", "status"} or not isinstance(value, dict)
        )
    if isinstance(wanted, list):
        return (
            not isinstance(live, list)
            or len(live) != len(wanted)
            or any(_differs(one, other) for one, other in zip(wanted, live, strict=True))
        )
    return bool(wanted != live)


async def _established(client: KubeClient, clock: Clock, names: Iterable[str]) -> None:
    """Wait until definitions are served, at most five seconds."""
    waiting = list(names)
    for _ in range(_TRIES):
        waiting = [name for name in waiting if not await _is_established(client, name)]
        if not waiting:
            return
        await clock.sleep(_WAIT_S)


async def _is_established(client: KubeClient, name: str) -> bool:
    live = await client.get(_VERSION, _KIND, "", name)
    conditions = (live.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

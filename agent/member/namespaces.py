"""Deletes a namespace of a member only if this hub's agent created it and nothing is left in it.

The agent lists every served kind as metadata. It does not count objects that Kubernetes creates in every
namespace, objects that those own, and Jobs of this hub (or objects of other kinds that run as jobs) that
have ended and whose end the hub has stored. While work of the hub is inside, the namespace waits. If other
objects are inside, or the agent cannot look, the namespace is kept: it loses the marks of the work and keeps
`managed-by` and `created-by`, and a later placement or Job may use it.

An object that is created between the last list and the deletion goes with the namespace.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import structlog

from agent.decide.decision import NOT_EMPTY, Outcome, Trouble
from agent.member.ended_parents import ended_of
from agent.member.refusals import refused
from agent.objects import managed_fields
from agent.objects.facts import (
    Object,
    finished,
    is_created,
    is_deleting,
    is_held_by_us,
    is_written_by_us,
)
from agent.objects.holds import BUILT_IN, JOB
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.discovery import Endpoint

log = structlog.get_logger(__name__)

_MOST_NAMED: Final = 5
_NEEDED: Final = frozenset({"list", "delete"})  # a kind that cannot be deleted is a view of others
_EVENTS: Final = frozenset({("v1", "Event"), ("events.k8s.io/v1", "Event")})
_MADE_BY_KUBERNETES: Final = frozenset(
    {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
)


@dataclass(slots=True)
class Contents:
    """Objects that hold a namespace, as Kind/name: the hub's own and others. `unread`: why it is unknown."""

    ours: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unread: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.ours or self.others or self.unread)

    @property
    def message(self) -> str:
        """Name the objects inside, or the reason why the agent does not know them."""
        held = [*self.ours, *self.others]
        if not held:
            return f"the agent cannot tell what is inside: {self.unread}"
        more = f" and {len(held) - _MOST_NAMED} more" if len(held) > _MOST_NAMED else ""
        return f"it holds {', '.join(held[:_MOST_NAMED])}{more}"


async def delete_namespace(
    client: KubeClient, seen: Object, hub_id: str, began: float, *, may_delete: bool
) -> Outcome:
    """Delete, keep, or say what to wait for. `may_delete`: False in profile `jobs`."""
    name = seen["metadata"]["name"]
    try:
        live = await client.get("v1", "Namespace", "", name)
        if live["metadata"].get("uid") != seen["metadata"].get("uid"):
            return Outcome(absent_at=began)
        if is_deleting(live):
            return Outcome(live=live)
        if not is_created(live, hub_id):
            text = f"label {labels.CREATED_BY} was removed"
            return Outcome(live=live, trouble=Trouble("Retrying", text))
        found = await _contents(client, name, hub_id) if may_delete else _of_profile_jobs()
        if found.ours:
            return Outcome(live=live, trouble=Trouble(NOT_EMPTY, found.message))
        if not found.is_empty:
            return await _keep(client, live, found, began)
        last = await _delete(client, live)
    except errors.NotFound:
        return Outcome(absent_at=began)
    except errors.Conflict as changed:
        return Outcome(trouble=Trouble("Retrying", changed.message))
    except errors.KubeError as refusal:
        return Outcome(trouble=refused(refusal))
    return Outcome(live=last) if last is not None else Outcome(absent_at=began)


async def look_inside(
    client: KubeClient, name: str, hub_id: str, *, may_delete: bool
) -> Contents | None:
    """Look for the objects that hold a namespace; None if the agent did not create it. Raises KubeError."""
    if not may_delete:
        return _of_profile_jobs()
    live = await client.get("v1", "Namespace", "", name)
    return await _contents(client, name, hub_id) if is_created(live, hub_id) else None


async def delete_if_empty(client: KubeClient, live: Object, hub_id: str) -> str:
    """Delete a namespace that the agent created and that holds nothing; why it stays, or "".

    Raises KubeError.
    """
    if is_deleting(live) or not is_created(live, hub_id):
        return "it is being deleted, or no label says that this agent created it"
    if others := _written_by_others(live):
        return f"people of this cluster wrote {', '.join(others[:_MOST_NAMED])} on it"
    found = await _contents(client, live["metadata"]["name"], hub_id)
    if not found.is_empty:
        return found.message
    await _delete(client, live)
    return ""


def _written_by_others(live: Object) -> list[str]:
    """Labels and annotations of a namespace that others than the agent wrote."""
    others = managed_fields.owned_by_others(live, labels.FIELD_MANAGER)
    metadata = managed_fields.child(others, "metadata") or {}
    return sorted(
        key.removeprefix("f:")
        for part in ("labels", "annotations")
        for key in managed_fields.child(metadata, part) or {}
        if key.startswith("f:")
    )


async def _delete(client: KubeClient, live: Object) -> Object | None:
    """Delete exactly this version of a namespace."""
    metadata = live["metadata"]
    version = metadata.get("resourceVersion")
    at = ("v1", "Namespace", "", metadata["name"])
    return await client.delete(*at, uid=metadata["uid"], resource_version=version)


def _of_profile_jobs() -> Contents:
    """Profile `jobs` has no right to look."""
    return Contents(unread="profile jobs deletes no namespace")


async def _keep(client: KubeClient, live: Object, found: Contents, began: float) -> Outcome:
    """Take the work's marks off, so that the namespace is of no work; it stays ours and created."""
    metadata = live["metadata"]
    patch: Object = {
        "uid": metadata["uid"],
        "resourceVersion": metadata.get("resourceVersion"),
        "labels": {labels.JOB_UID: None, labels.EPOCH: None},
    }
    given = metadata.get("annotations") or {}
    notes = [k for k in given if k.startswith(labels.PREFIX) and k != labels.NAMESPACE_ID]
    if notes:
        patch["annotations"] = dict.fromkeys(notes)
    await client.merge_patch(
        "v1",
        "Namespace",
        "",
        metadata["name"],
        {"metadata": patch},
        field_manager=labels.FIELD_MANAGER,
    )
    log.warning("namespace.kept", namespace=metadata["name"], why=found.message)
    return Outcome(absent_at=began, kept=f"namespace {metadata['name']} stays: {found.message}")


async def _contents(client: KubeClient, namespace: str, hub_id: str) -> Contents:
    """Everything in a namespace that holds it. Raises KubeError where the API server does not answer."""
    found = Contents()
    discovery = await client.server_resources(refresh=True)
    if discovery.unanswered:
        groups = ", ".join(sorted(discovery.unanswered))
        raise errors.Unavailable(503, "ServiceUnavailable", f"{groups} cannot be discovered")
    items: list[Object] = []
    # A tuple: another task may refresh the discovery during these lists, and a view would skip kinds.
    for endpoint in _kinds(tuple(discovery.values())):
        try:
            items += await _listed(client, endpoint, namespace)
        except errors.Forbidden as refusal:
            found.unread = refusal.message
        except errors.KubeError as refusal:
            if refusal.status not in {404, 405}:  # not served any more, or not as a list
                raise
    asked = [item for item in items if _may_have_ended(item, hub_id)]
    ended = await asyncio.to_thread(ended_of, asked) if asked else frozenset[str]()
    holding = _holding(items, hub_id, ended)
    mine = _ours(holding, hub_id)
    for item in holding:
        named = f"{item['kind']}/{item['metadata']['name']}"
        (found.ours if _uid(item) in mine else found.others).append(named)
    return found


def _ours(items: list[Object], hub_id: str) -> set[str]:
    """Uids of the hub's objects, of those that are being deleted, and of what they own, such as pods."""
    mine = {_uid(each) for each in items if is_written_by_us(each, hub_id) or is_deleting(each)}
    return _with_owned(items, mine, lambda owners, found: bool(owners & found))


def _kinds(endpoints: Iterable[Endpoint]) -> Iterator[Endpoint]:
    """One endpoint of each resource that lives in namespaces: the version that is known here, if any."""
    seen: set[tuple[str, str]] = set()
    for endpoint in sorted(endpoints, key=lambda each: not _is_of_jobs(each)):
        key = (endpoint.api_version.rpartition("/")[0], endpoint.plural)
        if endpoint.namespaced and endpoint.verbs >= _NEEDED and key not in seen:
            seen.add(key)
            yield endpoint


async def _listed(client: KubeClient, endpoint: Endpoint, namespace: str) -> list[Object]:
    """Jobs, and kinds that run as jobs, as a whole, to tell whether they have ended; all else as metadata."""
    at = (endpoint.api_version, endpoint.kind, namespace)
    return (await client.list(*at, metadata_only=not _is_of_jobs(endpoint))).items


def _is_of_jobs(endpoint: Endpoint) -> bool:
    return (endpoint.api_version, endpoint.kind) in BUILT_IN


def _may_have_ended(item: Object, hub_id: str) -> bool:
    """An object of a job that is no Job: the hub has its end if our finalizer is off."""
    key = item["apiVersion"], item["kind"]
    written = key in BUILT_IN - {JOB} and is_written_by_us(item, hub_id)
    return written and not is_held_by_us(item) and not is_deleting(item)


def _holding(items: list[Object], hub_id: str, ended: frozenset[str]) -> list[Object]:
    """Those that hold a namespace: neither made by Kubernetes, nor ended Jobs of ours, nor owned by such.

    `ended`: uids of objects of jobs that are no Jobs.
    """
    items = [item for item in items if (item["apiVersion"], item["kind"]) not in _EVENTS]
    free = {_uid(item) for item in items if _uid(item) in ended or _is_free(item, hub_id)}
    free = _with_owned(items, free, lambda owners, found: bool(owners) and owners <= found)
    return [item for item in items if _uid(item) not in free]


def _with_owned(
    items: list[Object], found: set[str], follows: Callable[[set[str], set[str]], bool]
) -> set[str]:
    """These uids, and those of objects that follow from them by their owners, to the last."""
    while True:
        more = {_uid(item) for item in items if follows(_owners(item), found)} - found
        if not more:
            return found
        found = found | more


def _is_free(item: Object, hub_id: str) -> bool:
    if (item["kind"], item["metadata"]["name"]) in _MADE_BY_KUBERNETES:
        return bool(item["apiVersion"] == "v1")
    ours = item["kind"] == "Job" and is_written_by_us(item, hub_id)
    return ours and finished(item) is not None and not is_held_by_us(item)


def _uid(item: Object) -> str:
    return str(item["metadata"].get("uid"))


def _owners(item: Object) -> set[str]:
    return {str(one.get("uid")) for one in item["metadata"].get("ownerReferences") or ()}

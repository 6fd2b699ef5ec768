"""Objects that the hub places in a member: what they carry there, and until when."""

from shared import labels
from tests.agent.scripted_hub import an_object


async def settings_of(member, namespace="team"):
    return await member.kube.get("v1", "ConfigMap", namespace, "settings")


async def namespace_of(member, name):
    return await member.kube.get("v1", "Namespace", "", name)


def is_there(member, resource, namespace, name):
    return member.cluster.store.get(resource, namespace, name) is not None


def marks_of(live):
    """Our marks on an object, by name without the prefix."""
    found = live["metadata"].get("labels") or {}
    return {
        key.removeprefix(labels.PREFIX): value
        for key, value in found.items()
        if key.startswith(labels.PREFIX)
    }


def is_applied(hub, uid, generation):
    """The hub has a report that this generation is applied."""
    entry = hub.observed.get(uid)
    return entry is not None and (entry.phase, entry.generation) == ("Applied", generation)


async def withdrawn(member, manifest, uid="o-1"):
    """The hub takes the object back; the last report of it."""
    member.hub.put(an_object(manifest, uid, action="Withdraw"))
    return await member.hub.seen(uid, "Gone")


async def applied(member, manifest, uid="o-1", **fields):
    member.hub.put(an_object(manifest, uid, **fields))
    return await member.hub.seen(uid, "Applied")

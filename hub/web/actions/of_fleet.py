"""Actions on clusters and queues: cordon, uncordon, drain; stop, resume. Of what was read."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.access import Noun, Rights, Verb
from hub.domain.workloads.origin import Origin
from hub.services.queues.stop_commands import stop_command
from hub.web.actions.preview import Act, ApiCall, Field, Listed, Preview, ShownItem, listed
from hub.web.words import count
from shared.documents import Json

# By fate: where its number is, and the words that say it. Jobs are listed apart.
_FATES: Final = {
    "Deleted": ("deleted", "Deleted"),
    "DeletedIfEmpty": ("deletedIfEmpty", "Deleted if empty"),
    "Released": ("released", "Released: they stay"),
    "Left": ("left", "Left as they are"),
    "NotReported": ("notReported", "Deleted or released, not reported which,"),
}


def offered_of_cluster(rights: Rights, cluster: Json) -> list[Act]:
    """The user's allowed actions on this member in its present state."""
    if not rights.allows(Verb.CHANGE, Noun.CLUSTERS):
        return []
    at = f"/actions/clusters/{cluster['name']}"
    switch = (
        Act("uncordon", "Uncordon…", f"{at}/uncordon")
        if cluster["cordoned"]
        else Act("cordon", "Cordon…", f"{at}/cordon")
    )
    return [switch, Act("drain", "Drain…", f"{at}/drain", harm=True)]


def may_stop(rights: Rights, namespace: str) -> bool:
    """True if the user may stop LocalQueues there; without `namespace`, ClusterQueues."""
    if namespace:
        return rights.allows(Verb.CHANGE, Noun.QUEUES, namespace)
    return rights.allows(Verb.CHANGE, Noun.QUOTAS)


def offered_of_queue(rights: Rights, namespace: str, name: str, policy: str) -> list[Act]:
    """The user's allowed actions on a queue; without `namespace` it is a ClusterQueue."""
    if not may_stop(rights, namespace):
        return []
    at = f"/actions/localqueues/{namespace}/{name}" if namespace else f"/actions/queues/{name}"
    stop = Act("stop", "Stop…", f"{at}/stop", harm=True)
    resume = Act("resume", "Resume…", f"{at}/resume")
    return {"None": [stop], "Hold": [resume, stop]}.get(policy, [resume])


def cordon(cluster: Json, others: Sequence[str]) -> Preview:
    """`others`: the members that take new work."""
    name = cluster["name"]
    stay = (
        f"The {count(cluster['jobs'], 'job')} there "
        + ("goes" if cluster["jobs"] == 1 else "go")
        + " on, and objects stay."
        if cluster["jobs"]
        else "No job is there; objects stay."
    )
    return Preview(
        title=f"Cordon {name}?",
        confirm="Cordon the cluster",
        call=ApiCall("POST", f"/v1/clusters/{name}/cordon"),
        command=f"roadstead clusters cordon {shlex.quote(name)}",
        sentences=[stay, _others(others)],
        refusal=f"{name} is cordoned already." if cluster["cordoned"] else "",
    )


def uncordon(cluster: Json) -> Preview:
    """It gets work again."""
    name = cluster["name"]
    free = ", ".join(
        f"{room['free']} {resource}" for resource, room in sorted(cluster["resources"].items())
    )
    said = [f"It gets new work again: free there are {free or 'nothing that its agent reported'}."]
    if cluster["state"] not in {"Cordoned", "Ready"}:
        said.append(f"It is {cluster['state']}, too: it gets no work until that is fixed.")
    return Preview(
        title=f"Uncordon {name}?",
        confirm="Uncordon the cluster",
        call=ApiCall("POST", f"/v1/clusters/{name}/uncordon"),
        command=f"roadstead clusters uncordon {shlex.quote(name)}",
        sentences=said,
        refusal="" if cluster["cordoned"] else f"{name} is not cordoned.",
    )


def drain(cluster: Json, would: Json, others: Sequence[str], pages: Mapping[str, str]) -> Preview:
    """`would`: the drain's own dry run; `pages`: of jobs that are there, by their full names."""
    name, moved = cluster["name"], would["jobCount"]
    said = [f"{name} gets no new work: it is cordoned."]
    if moved:
        verb = "is" if moved == 1 else "are"
        start = "It starts" if moved == 1 else "They start"
        said.append(
            f"{count(moved, 'job')} {verb} withdrawn. {start} again elsewhere once {name} has confirmed that "
            "nothing of it runs there; unsaved work is lost."
        )
    else:
        said.append("No job is there.")
    if would["blocked"]:
        verb = "stays" if would["blocked"] == 1 else "stay"
        said.append(
            f"{count(would['blocked'], 'placement')} {verb} for now, as disruption budgets say: drain "
            "again later."
        )
    said.append(_others(others))
    said += [f"{each['message']}." for each in would["waiting"]]
    lists: list[Listed] = []
    if moved:
        named = [(f"{each['namespace']}/{each['name']}", each["state"]) for each in would["jobs"]]
        items = [ShownItem(job, pages.get(job, ""), state) for job, state in named]
        lists.append(listed("Jobs that are withdrawn", items, moved))
    if would["placements"]:
        items = [_placement(each) for each in would["placements"]]
        lists.append(listed("Placements that have objects there", items))
    lists += removal(would["members"])
    return Preview(
        title=f"Drain {name}?",
        confirm="Drain the cluster",
        call=ApiCall("POST", f"/v1/clusters/{name}/drain", {"dryRun": False}),
        command=f"roadstead clusters drain {shlex.quote(name)}",
        sentences=said,
        lists=lists,
        harm=True,
    )


def removal(members: Sequence[Json]) -> list[Listed]:
    """The fates of objects in members, a list for each fate."""
    found: list[Listed] = []
    for member in members:
        for fate, (field, words) in _FATES.items():
            if number := member[field]:
                shown = [_fate(each) for each in member["objects"] if each["fate"] == fate]
                found.append(listed(f"{words} in {member['cluster']}", shown, number))
    return found


def stop(queue: Json, running: Sequence[ShownItem], *, drain: bool, policy: str) -> Preview:
    """`running`: some of what it has admitted."""
    name = _queue_name(queue)
    held, waits = queue["reserving"], queue["pending"]
    waiting = f"{count(waits, 'job')} that {'waits stays' if waits == 1 else 'wait stay'} in line"
    said = [f"Nothing more is admitted: {waiting if waits else 'no job waits now'}."]
    if held and drain:
        said.append(
            f"{count(held, 'job')} that {'holds' if held == 1 else 'hold'} quota "
            f"{'is' if held == 1 else 'are'} withdrawn and {'waits' if held == 1 else 'wait'} again: unsaved "
            "work is lost."
        )
    elif held:
        said.append(
            f"{count(held, 'job')} that {'is' if held == 1 else 'are'} admitted "
            f"{'runs' if held == 1 else 'run'} to the end."
        )
    else:
        said.append("It has admitted nothing.")
    wanted = "HoldAndDrain" if drain else "Hold"
    box = Field("drain", "Also withdraw admitted jobs", "drain", "checkbox",
                "on" if drain else "", again=True)  # fmt: skip
    return Preview(
        title=f"Stop {name}?",
        confirm="Stop and drain the queue" if drain else "Stop the queue",
        call=ApiCall("POST", f"{_path(queue)}/stop", {"drain": drain}),
        command=f"roadstead queues stop {'--drain ' if drain else ''}{shlex.quote(name)}",
        sentences=said,
        lists=[listed("Taken back", running, held)] if drain and held else (),
        fields=[box],
        harm=True,
        refusal=_elsewhere(queue, wanted)
        or (f"{name} is stopped already ({policy})." if policy == wanted else ""),
    )


def resume(queue: Json, first: Sequence[ShownItem], policy: str) -> Preview:
    """`first`: who waits in it, the first in line first."""
    name = _queue_name(queue)
    waits = queue["pending"]
    said = (
        f"{count(waits, 'job')} that {'waits is' if waits == 1 else 'wait are'} considered again, in order."
        if waits
        else "No job waits; new jobs are admitted again."
    )
    return Preview(
        title=f"Let {name} go on?",
        confirm="Resume the queue",
        call=ApiCall("POST", f"{_path(queue)}/resume"),
        command=f"roadstead queues resume {shlex.quote(name)}",
        sentences=[said],
        lists=[listed("First in line", first, waits)] if first else (),
        refusal=_elsewhere(queue, "None")
        or (f"{name} is not stopped." if policy == "None" else ""),
    )


def _elsewhere(queue: Json, policy: str) -> str:
    """The reason why it is not changed here: objects of the hub cluster are changed there."""
    if queue["origin"] != Origin.HUB_CLUSTER:
        return ""
    space = queue.get("namespace") or ""
    typed = stop_command(queue["origin"], space, queue["name"], policy)
    return f"It came from the hub cluster, and is changed there: {typed}"


def _others(names: Sequence[str]) -> str:
    if not names:
        return "No other cluster takes new work now: jobs wait until one does."
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"New work goes to {shown}."


def _fate(each: Json) -> ShownItem:
    where = f"{each['namespace']}/" if each["namespace"] else ""
    return ShownItem(f"{each['kind']} {where}{each['name']}", "", each["message"])


def _placement(each: Json) -> ShownItem:
    where = f"{each['namespace']}/" if each["namespace"] else ""
    return ShownItem(f"{each['kind']} {where}{each['name']}", "", each["message"])


def _queue_name(queue: Json) -> str:
    return f"{queue['namespace']}/{queue['name']}" if queue.get("namespace") else queue["name"]


def _path(queue: Json) -> str:
    return f"/v1/queues/{_queue_name(queue)}"

"""Shell completion for names of jobs, queues, clusters, namespaces and kinds, read from the hub.

The shell blocks meanwhile, so the hub has one second; on any error completion offers nothing. The option or
metavar determines the kind of a name, so verbs need no completion code.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from roadstead.cli.names import default_namespace
from roadstead.client import Client

_WITHIN_S: Final = 1.0
_MOST: Final = 100
Names = Callable[[Client, str], Iterable[str]]


def offer(command: click.Command, noun: str) -> None:
    """Attach name completion to a command; `noun` is its verb's first word, for parameters called NAME."""
    for parameter in command.params:
        names = _names_of(parameter, noun)
        if names is not None:
            # On the one object rather than on its class: the parameter determines the kind of names.
            vars(parameter)["shell_complete"] = _completer(names)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            offer(each, noun)


def _completer(names: Names) -> Callable[[click.Context, str], list[CompletionItem]]:
    def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        try:
            root = ctx.find_root()
            root.obj = dict(root.params)  # as the command would: completion runs no command
            with ctx.scope(cleanup=False), _client(root.obj) as hub:
                found = [n for n in names(hub, incomplete) if n.startswith(incomplete)]
        except Exception:  # noqa: BLE001 - completion reports no errors
            return []
        return [
            CompletionItem(each) for each in dict.fromkeys(found[:_MOST]) if each.isprintable()
        ]

    return complete


def _client(given: dict[str, Any]) -> Client:
    return Client(
        given.get("server"),
        given.get("token"),
        ca=given.get("ca"),
        context=given.get("context"),
        timeout_s=_WITHIN_S,
    )


def _jobs(hub: Client, incomplete: str) -> Iterable[str]:
    """Complete full names; also plain names if a namespace is set."""
    within, slash, name = incomplete.rpartition("/")
    if slash:
        return [job.full_name for job in hub.jobs(namespace=within, name=name, limit=_MOST)]
    namespace = default_namespace()
    own = hub.jobs(namespace=namespace, name=incomplete, limit=_MOST) if namespace else ()
    return [*(job.name for job in own), *(job.full_name for job in hub.jobs(limit=_MOST))]


def _cluster_queues(hub: Client, _incomplete: str) -> Iterable[str]:
    return [queue.name for queue in hub.queues()]


def _queues(hub: Client, _incomplete: str) -> Iterable[str]:
    """Complete ClusterQueues, and LocalQueues with their namespaces."""
    found = hub.queues()
    inner = [f"{each.namespace}/{each.name}" for queue in found for each in queue.local_queues]
    return [*(queue.name for queue in found), *inner]


def _local_queues(hub: Client, _incomplete: str) -> Iterable[str]:
    return [each.name for queue in hub.queues() for each in queue.local_queues]


def _clusters(hub: Client, _incomplete: str) -> Iterable[str]:
    return [each.name for each in hub.clusters()]


def _namespaces(hub: Client, _incomplete: str) -> Iterable[str]:
    """Complete namespaces that are objects, or that contain jobs or queues."""
    made = [each.metadata.name for each in islice(hub.objects("Namespace"), _MOST)]
    used = [job.namespace for job in hub.jobs(limit=_MOST)]
    inner = [each.namespace for queue in hub.queues() for each in queue.local_queues]
    return sorted({"default", *made, *used, *inner})


def _placements(hub: Client, _incomplete: str) -> Iterable[str]:
    found = islice(hub.placements(), _MOST)
    return [f"{p.namespace}/{p.name}" if p.namespace else p.name for p in found]


def _kinds(hub: Client, _incomplete: str) -> Iterable[str]:
    return ["job", "workload", *sorted(each.kind.lower() for each in hub.kinds())]


def _contexts(_hub: Client, _incomplete: str) -> Iterable[str]:
    from roadstead import contexts

    return [contexts.LOCAL, *contexts.load().named]


_OPTIONS: Final[dict[str, Names]] = {
    "--cluster": _clusters,
    "--namespace": _namespaces,
    "--queue": _local_queues,
    "--cluster-queue": _cluster_queues,
    "--context": _contexts,
}
_WORDS: Final[dict[str, Names]] = {
    "JOB": _jobs,
    "QUEUE": _queues,
    "CLUSTER": _clusters,
    "KIND": _kinds,
}
# What NAME is, by the verb's first word.
_NOUNS: Final[dict[str, Names]] = {
    "jobs": _jobs,
    "queues": _queues,
    "clusters": _clusters,
    "placements": _placements,
    "context": _contexts,
}


def _names_of(parameter: click.Parameter, noun: str) -> Names | None:
    if isinstance(parameter, click.Option):
        found = [_OPTIONS[each] for each in parameter.opts if each in _OPTIONS]
        return found[0] if found else None
    word = (parameter.metavar or (parameter.name or "").upper()).strip("[].").rstrip(".")
    return _NOUNS.get(noun) if word == "NAME" else _WORDS.get(word.split()[0] if word else "")

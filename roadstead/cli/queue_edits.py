"""`roadstead queues stop`, `resume` and `set`: one field of a queue, read and applied again."""

import copy
from collections.abc import Callable
from typing import Any, Final

import click

from roadstead.cli.examples import examples
from roadstead.cli.export import as_manifest
from roadstead.cli.kinds import KUEUE
from roadstead.cli.progress import hint
from roadstead.cli.run.amounts import amount_or_nothing
from roadstead.client import Client
from roadstead.errors import NotFound, Rejected
from roadstead.models.queues import ClusterQueue, LocalQueue

Json = dict[str, Any]
_TRIES: Final = 3
# What `queues set` writes, by the field's name.
_AMOUNTS: Final = {"nominal": "nominalQuota", "borrow": "borrowingLimit", "lend": "lendingLimit"}
Amounts = tuple[tuple[str, str, str], ...]


def add_to(group: click.Group) -> None:
    """Add the verbs to `roadstead queues`."""
    for each in (stop, resume, set_):
        group.add_command(each)


@examples("roadstead queues stop team-a", "roadstead queues stop --drain team-a/local-queue")
@click.command("stop")
@click.argument("names", metavar="QUEUE...", nargs=-1, required=True)
@click.option("--drain", is_flag=True, help="Take back what is admitted, too: it waits again.")
@click.pass_context
def stop(ctx: click.Context, names: tuple[str, ...], drain: bool) -> int:
    """Admit nothing more; what is admitted goes on, unless --drain.

    QUEUE is a ClusterQueue, or a LocalQueue as NAMESPACE/NAME.
    """
    told = "is stopped, and what it had admitted waits again" if drain else "is stopped"
    code = _each(ctx, names, lambda hub, name: _switched(hub.stop_queue(name, drain=drain)), told)
    hint(f"roadstead queues resume {names[0]}")
    return code


@examples("roadstead queues resume team-a")
@click.command("resume")
@click.argument("names", metavar="QUEUE...", nargs=-1, required=True)
@click.pass_context
def resume(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Admit again what waits.

    QUEUE is a ClusterQueue, or a LocalQueue as NAMESPACE/NAME.
    """
    return _each(ctx, names, lambda hub, name: _switched(hub.resume_queue(name)), "admits again")


def _amounts(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> Amounts:
    """`RESOURCE=QUANTITY`, or `FLAVOR/RESOURCE=QUANTITY`; an empty quantity is none."""
    found = []
    for each in given:
        left, is_pair, text = each.rpartition("=")
        # A resource may have a slash itself (nvidia.com/gpu): what comes before a dotless slash is a flavor.
        flavor, slash, resource = left.partition("/")
        if not slash or "." in flavor:
            flavor, resource = "", left
        if not is_pair or not resource:
            raise click.BadParameter(f"{each!r}: give [FLAVOR/]RESOURCE=QUANTITY, such as cpu=40.")
        found.append((flavor, resource, amount_or_nothing(resource, text) if text else ""))
    return tuple(found)


@examples(
    "roadstead queues set team-a --nominal cpu=40 --nominal spot/memory=256Gi",
    "roadstead queues set team-a --borrow cpu=10 --cohort research",
)
@click.command("set")
@click.argument("name", metavar="QUEUE")
@click.option(
    "--nominal", callback=_amounts, multiple=True, metavar="[FLAVOR/]RESOURCE=QUANTITY",
    help="Its own quota.",
)  # fmt: skip
@click.option(
    "--borrow", callback=_amounts, multiple=True, metavar="[FLAVOR/]RESOURCE=QUANTITY",
    help="How much it may borrow; RESOURCE= for any amount.",
)  # fmt: skip
@click.option(
    "--lend", callback=_amounts, multiple=True, metavar="[FLAVOR/]RESOURCE=QUANTITY",
    help="How much it lends; RESOURCE= for all.",
)  # fmt: skip
@click.option("--cohort", metavar="NAME", help="Its cohort; '' for none.")
@click.option(
    "--strategy",
    type=click.Choice(["StrictFIFO", "BestEffortFIFO"], case_sensitive=False),
    help="Whether what does not fit holds up what comes after it.",
)
@click.pass_context
def set_(
    ctx: click.Context,
    /,
    name: str,
    cohort: str | None,
    strategy: str | None,
    **amounts: Amounts,
) -> int:
    """Change the quota, the cohort or the strategy of a ClusterQueue.

    Resources and flavors are those that the queue has; a flavor need be named only where several have the
    resource. Everything else stays as it is.
    """
    if "/" in name:
        raise click.UsageError(
            f"{name}: a LocalQueue has no quota of its own; name a ClusterQueue."
        )
    if not any(amounts.values()) and cohort is None and strategy is None:
        raise click.UsageError(
            "What is to be set? --nominal, --borrow, --lend, --cohort, --strategy."
        )

    def change(spec: Json) -> None:
        for option, field in _AMOUNTS.items():
            for flavor, resource, text in amounts[option]:
                _set_amount(spec, flavor, resource, field, text)
        for key, value in (("cohortName", cohort), ("queueingStrategy", strategy)):
            if value:
                spec[key] = value
            elif value is not None:
                spec.pop(key, None)

    return _each(ctx, (name,), lambda hub, name: _edit(hub, name, change), "is set")


def _set_amount(spec: Json, flavor: str, resource: str, field: str, text: str) -> None:
    """Write one amount. Raises click.UsageError where the queue has no such resource, or several."""
    found = [
        (each.get("name"), amount)
        for group in spec.get("resourceGroups") or []
        for each in group.get("flavors") or []
        for amount in each.get("resources") or []
        if amount.get("name") == resource and flavor in {"", each.get("name")}
    ]
    where = f"{flavor}/{resource}" if flavor else resource
    if not found:
        raise click.UsageError(
            f"{where}: the queue has no quota of it; `roadstead get cq` shows it."
        )
    if len(found) > 1:
        named = " or ".join(f"{name}/{resource}" for name, _ in found)
        raise click.UsageError(f"{resource}: of which flavor? {named}")
    amount = found[0][1]
    if text:
        amount[field] = text
    elif field == "nominalQuota":
        raise click.UsageError(f"{where}: a quota is an amount, such as {resource}=0.")
    else:
        amount.pop(field, None)


def _switched(queue: ClusterQueue | LocalQueue) -> str:
    """The queue as commands name it, after its kind."""
    place = f"{queue.namespace}/{queue.name}" if isinstance(queue, LocalQueue) else queue.name
    return f"{queue.kind} {place}"


def _each(
    ctx: click.Context, names: tuple[str, ...], act: Callable[[Client, str], str], told: str
) -> int:
    from roadstead.cli.each import for_each

    def tell(title: str) -> None:
        click.echo(f"{title} {told}")

    return for_each(ctx, names, act, tell, "changing")[1]


def _edit(hub: Client, name: str, change: Callable[[Json], None]) -> str:
    """Read a queue, change its specification, apply it; again where somebody else did meanwhile."""
    namespace, slash, short = name.rpartition("/")
    kind = "LocalQueue" if slash else "ClusterQueue"
    for left in reversed(range(_TRIES)):
        held = hub.find(kind, short, group=KUEUE, namespace=namespace).raw
        spec = copy.deepcopy(held.get("spec") or {})
        change(spec)
        document = {**as_manifest(held), "kind": kind, "spec": spec}
        if version := held["metadata"].get("resourceVersion"):
            document["metadata"]["resourceVersion"] = version
        (applied,) = _apply(hub, document)
        if not applied.is_rejected:
            break
        if applied.code != "Conflict" or not left:
            problem = {
                "code": applied.code,
                "detail": applied.detail,
                "errors": applied.raw.get("errors"),
            }
            raise Rejected(409, problem)
    return f"{kind} {name}"


def _apply(hub: Client, document: Json) -> list[Any]:
    import json

    from roadstead.models.objects import Applied

    try:
        return hub.apply(json.dumps(document))
    except NotFound:
        raise
    except Rejected as whole:
        told = whole.problem.get("items")
        if isinstance(told, list) and told:
            return [Applied.of(told[0])]
        raise

"""`roadstead queues stop`, `resume` and `set`: read a queue, change one field, apply it again."""

import copy
from collections.abc import Callable
from typing import Any, Final

import click

from roadstead.cli.examples import examples
from roadstead.cli.export import as_manifest
from roadstead.cli.kinds import KUEUE
from roadstead.cli.progress import hint
from roadstead.cli.run.amounts import amount_or_nothing
from roadstead.cli.visible import say, visible
from roadstead.client import Client
from roadstead.errors import NotFound, Rejected
from roadstead.models.queues import ClusterQueue, LocalQueue, QueuePreview

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
@click.option("--drain", is_flag=True, help="Also evict admitted jobs; they requeue.")
@click.option("--dry-run", is_flag=True, help="Show what would stop, leave and run on.")
@click.pass_context
def stop(ctx: click.Context, names: tuple[str, ...], drain: bool, dry_run: bool) -> int:
    """Stop admitting jobs; --drain also evicts admitted jobs.

    QUEUE is a ClusterQueue, or a LocalQueue as NAMESPACE/NAME.
    """
    if dry_run:
        return _look(ctx, names, lambda hub, name: hub.preview_stop(name, drain=drain))
    told = "is stopped, and its admitted jobs are requeued" if drain else "is stopped"
    code = _each(ctx, names, lambda hub, name: _switched(hub.stop_queue(name, drain=drain)), told)
    hint(f"roadstead queues resume {names[0]}")
    return code


@examples("roadstead queues resume team-a")
@click.command("resume")
@click.argument("names", metavar="QUEUE...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would resume; change nothing.")
@click.pass_context
def resume(ctx: click.Context, names: tuple[str, ...], dry_run: bool) -> int:
    """Resume admitting jobs.

    QUEUE is a ClusterQueue, or a LocalQueue as NAMESPACE/NAME.
    """
    if dry_run:
        return _look(ctx, names, lambda hub, name: hub.preview_resume(name))
    return _each(ctx, names, lambda hub, name: _switched(hub.resume_queue(name)), "admits again")


def _amounts(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> Amounts:
    """Parse `RESOURCE=QUANTITY`, or `FLAVOR/RESOURCE=QUANTITY`; an empty quantity is None."""
    found = []
    for each in given:
        left, is_pair, text = each.rpartition("=")
        # A resource may have a slash itself (nvidia.com/gpu): what comes before a dotless slash is a flavor.
        flavor, slash, resource = left.partition("/")
        if not slash or "." in flavor:
            flavor, resource = "", left
        if not is_pair or not resource:
            raise click.BadParameter(f"{each!r}: use [FLAVOR/]RESOURCE=QUANTITY, such as cpu=40.")
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
    help="Nominal quota.",
)  # fmt: skip
@click.option(
    "--borrow", callback=_amounts, multiple=True, metavar="[FLAVOR/]RESOURCE=QUANTITY",
    help="Borrowing limit; RESOURCE= removes it.",
)  # fmt: skip
@click.option(
    "--lend", callback=_amounts, multiple=True, metavar="[FLAVOR/]RESOURCE=QUANTITY",
    help="Lending limit; RESOURCE= removes it.",
)  # fmt: skip
@click.option("--cohort", metavar="NAME", help="Its cohort; '' removes it.")
@click.option(
    "--strategy",
    type=click.Choice(["StrictFIFO", "BestEffortFIFO"], case_sensitive=False),
    help="Whether a job that does not fit blocks the jobs behind it.",
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

    Use resources and flavors that the queue has; name a flavor only if several have the resource.
    Everything else stays unchanged.
    """
    if "/" in name:
        raise click.UsageError(f"{name}: a LocalQueue has no quota; name a ClusterQueue.")
    if not any(amounts.values()) and cohort is None and strategy is None:
        raise click.UsageError(
            "Nothing to set: use --nominal, --borrow, --lend, --cohort or --strategy."
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
    """Set one amount. Raises click.UsageError if the queue has no such resource, or several."""
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
            f"{where}: the queue has no quota for it; `roadstead get cq` shows it."
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
    """The queue's name as commands accept it, after its kind."""
    place = f"{queue.namespace}/{queue.name}" if isinstance(queue, LocalQueue) else queue.name
    return f"{queue.kind} {place}"


def _look(
    ctx: click.Context, names: tuple[str, ...], ask: Callable[[Client, str], QueuePreview]
) -> int:
    """Print what a verb would do to each queue; change nothing."""
    from roadstead.cli.each import for_each

    def tell(found: QueuePreview) -> None:
        for line in _previewed(found):
            say(line)

    code = for_each(ctx, names, ask, tell, "looking")[1]
    say("nothing was changed", err=True)
    return code


def _previewed(found: QueuePreview) -> list[str]:
    """Format the preview: the queue, then waiting, evicted and remaining jobs."""
    title = f"{found.kind} {'/'.join(filter(None, (found.namespace, found.name)))}"
    if found.stop_policy == found.would_be:
        return [f"{title} has stopPolicy {found.stop_policy} already: nothing would change"]
    waiting = "1 job" if found.pending == 1 else f"{found.pending} jobs"
    if found.would_be == "None":
        return [f"{title} would admit again; {waiting} waiting would be considered again"]
    lines = [f"{title} would be stopped; {waiting} waiting would keep waiting"]
    number = found.evicted or found.left
    admitted = "1 admitted job" if number == 1 else f"{number} admitted jobs"
    fate = "would be evicted and requeued" if found.evicted else "would run on"
    lines.append(f"  {admitted} {fate}")
    for job in found.jobs:
        where = f"{job.state} on {job.cluster}" if job.cluster else job.state
        lines.append(f"    {visible(f'{job.namespace}/{job.name}')}  {where}")
    if (more := number - len(found.jobs)) > 0:
        lines.append(f"    ... and {more} more")
    return lines


def _each(
    ctx: click.Context, names: tuple[str, ...], act: Callable[[Client, str], str], told: str
) -> int:
    from roadstead.cli.each import for_each

    def tell(title: str) -> None:
        say(f"{title} {told}")

    return for_each(ctx, names, act, tell, "changing")[1]


def _edit(hub: Client, name: str, change: Callable[[Json], None]) -> str:
    namespace, slash, short = name.rpartition("/")
    kind = "LocalQueue" if slash else "ClusterQueue"
    edit_spec(hub, kind, KUEUE, (namespace, short), change)
    return f"{kind} {name}"


def edit_spec(
    hub: Client, kind: str, group: str, place: tuple[str, str], change: Callable[[Json], None]
) -> None:
    """Read an object, change its specification, apply it; retry on a conflict. Raises Rejected."""
    namespace, short = place
    for left in reversed(range(_TRIES)):
        held = hub.find(kind, short, group=group, namespace=namespace).raw
        spec = copy.deepcopy(held.get("spec") or {})
        change(spec)
        document = {**as_manifest(held), "kind": kind, "spec": spec}
        if version := held["metadata"].get("resourceVersion"):
            document["metadata"]["resourceVersion"] = version
        (applied,) = _apply(hub, document)
        if not applied.is_rejected:
            return
        if applied.code != "Conflict" or not left:
            problem = {
                "code": applied.code,
                "detail": applied.detail,
                "errors": applied.raw.get("errors"),
            }
            raise Rejected(409, problem)


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

"""`roadstead delete`: objects of any kind and jobs, by name or from manifests."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from roadstead.cli import kinds
from roadstead.cli.get import work_named
from roadstead.cli.manifests import read_sources, recursive_option
from roadstead.cli.messages import sentence
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import progress
from roadstead.cli.removals import lines_of
from roadstead.cli.targets import Target, described, target
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import NotFound, Rejected
from roadstead.models.jobs import JobState, WholeJob
from roadstead.models.objects import Deleted
from roadstead.models.record import Json

_WOULD: Final = "wouldDelete"
_ELSEWHERE: Final = "ownedElsewhere"


class DeletionOptions(NamedTuple):
    """Options of a deletion: `drain` a ClusterQueue first; `dry_run` only previews the effects."""

    drain: bool
    dry_run: bool


class Done(NamedTuple):
    """An object, with its namespace if it has one, and the hub's answer, with `result` in words."""

    target: Target
    raw: Json


@click.command()
@click.argument("what", metavar="[KIND NAME... | KIND/NAME...]", nargs=-1)
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Delete the objects of a file, a folder or '-', the last first. May be given several times.",
)
@recursive_option
@click.option(
    "-n", "--namespace", metavar="NAME", help="Namespace of names without one [default: default]."
)
@click.option("--drain", is_flag=True, help="Evict the admitted jobs of a ClusterQueue first.")
@click.option(
    "--dry-run", is_flag=True, help="Show what the deletion would do in members; delete nothing."
)
@click.option("--ignore-not-found", is_flag=True, help="Do not fail if an object does not exist.")
@answer_option
@click.pass_context
def delete(
    ctx: click.Context,
    what: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    drain: bool,
    dry_run: bool,
    ignore_not_found: bool,
    output: str,
) -> int:
    """Delete objects of any kind, and jobs: by name, or from manifests.

    Write KIND in any case, plural or short: clusterqueue, cq, namespace, placement, cluster, job, or with
    its group, as Widget.example.com. Name a namespaced object NAME with -n, or NAMESPACE/NAME. A rejected
    deletion does not stop the others; the exit code is then 3.

    For each member it lists the objects that are deleted, released (they stay there), or left unchanged.
    --dry-run prints only this. For an object that kubectl created, it prints the command that deletes it.
    """
    if bool(what) == bool(files):
        raise click.UsageError("Name what to delete: KIND NAME, KIND/NAME, or -f FILE.")
    sources = read_sources(files, recursive=recursive)
    meant = [each.target for source in sources for each in described(source, namespace)]
    if files and not meant:
        raise click.UsageError("The files named by -f contain nothing to delete.")
    told: list[Json] = []
    asked = DeletionOptions(drain=drain, dry_run=dry_run)
    with client(ctx) as hub:
        targets = meant[::-1] or _named(hub, what, namespace)
        with progress("deleting", len(targets)) as advance:
            for target in targets:
                done = _try(hub, target, asked, absent_is_well=ignore_not_found)
                if done is not None:
                    told.append({"kind": target.kind.name, "name": target.name, **done.raw})
                    if output == "text":
                        _show(*done)
                advance(1)
    if output != "text":
        dump({"items": told}, output)
    return 0 if len(told) == len(targets) else Rejected.exit_code


def _named(hub: Client, what: Sequence[str], namespace: str | None) -> list[Target]:
    """Parse `KIND NAME...` or `KIND/NAME...`; a NAME may be NAMESPACE/NAME."""
    first, *names = what
    if "/" in first:
        pairs = [each.split("/", 1) for each in what]
        if any(len(each) < 2 or not all(each) for each in pairs):
            raise click.UsageError(f"{' '.join(what)}: expected KIND/NAME for each.")
    elif names:
        pairs = [[first, name] for name in names]
    else:
        raise click.UsageError(f"{first}: name one: KIND NAME or KIND/NAME.")
    known = {word: kinds.kind_of(hub, word) for word in dict.fromkeys(word for word, _ in pairs)}
    return [target(known[word], name, namespace) for word, name in pairs]


def _show(target: Target, raw: Json) -> None:
    words = {_WOULD: "would be deleted", _ELSEWHERE: f"is not deleted here: {raw.get('message')}"}
    say(f"{target.title} {words.get(raw['result'], raw['result'])}")
    if raw["result"] == _WOULD and raw.get("message"):
        say(f"  {raw['message']}")
    for line in lines_of(Deleted.of({"members": [], **raw}).members):
        say(line)


def _try(
    hub: Client, target: Target, asked: DeletionOptions, *, absent_is_well: bool
) -> Done | None:
    """Delete one object and return the result; None if the hub rejected it, which is printed."""
    try:
        return _delete(hub, target, asked)
    except NotFound as absent:
        if absent_is_well:
            return Done(target, {"result": "does not exist"})
        refusal: Rejected = absent
    except Rejected as refused:
        refusal = refused
    words = sentence(refusal)
    if target.place or target.name not in words:
        where = f"{target.place} ({target.title})" if target.place else target.title
        words = words.replace("error: ", f"error: {where}: ", 1)
    say(words, err=True)
    return None


def _delete(hub: Client, target: Target, asked: DeletionOptions) -> Done:
    kind = target.kind
    if (work := _delete_work(hub, target, asked)) is not None:
        return Done(target, work)
    drained = asked.drain and kind[:2] == (kinds.KUEUE, "ClusterQueue")
    try:
        raw = _delete_object(hub, target, target.namespace, asked._replace(drain=drained))
        return Done(target, raw)
    except NotFound:
        if kind.namespaced is not None:
            raise
    # Unknown whether it is namespaced.
    raw = _delete_object(hub, target, "", asked._replace(drain=False))
    return Done(target._replace(namespace=""), raw)


def _delete_work(hub: Client, target: Target, asked: DeletionOptions) -> Json | None:
    """Delete a job or a Workload; None for every other object."""
    kind = target.kind
    full_name = f"{target.namespace}/{target.name}"
    is_work = kinds.is_other_work(kind) and work_named(hub, kind.name, full_name) is not None
    if is_work or kind[:2] == ("batch", "Job"):
        if asked.dry_run:
            looked = hub.delete_job(full_name, dry_run=True)
            leaves = looked.cluster and not looked.has_ended
            where = f"would be withdrawn from {looked.cluster}, then deleted"
            return {"result": where if leaves else _WOULD} | _of(looked)
        job = hub.delete_job(full_name)
        withdrawn = f"is being withdrawn from {job.cluster}"
        return {"result": withdrawn if job.state == JobState.WITHDRAWING else "deleted"} | _of(job)
    if kind[:2] == (kinds.KUEUE, "Workload") and not asked.dry_run:
        return {"result": "deleted"} | _of(hub.delete_workload(full_name))
    return None


def _delete_object(hub: Client, target: Target, namespace: str, asked: DeletionOptions) -> Json:
    kind = target.kind
    return hub.delete_object(
        kind.name,
        target.name,
        group=kind.group,
        namespace=namespace,
        drain=asked.drain,
        dry_run=asked.dry_run,
    ).raw


def _of(job: WholeJob) -> Json:
    return {"uid": job.uid, "state": job.state}

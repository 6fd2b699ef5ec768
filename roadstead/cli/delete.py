"""`roadstead delete`: objects of any kind and jobs, by name or as manifests name them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from roadstead.cli import kinds
from roadstead.cli.manifests import read_sources, recursive_option
from roadstead.cli.messages import sentence
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import progress, say
from roadstead.cli.removals import lines_of
from roadstead.cli.targets import Target, described, target
from roadstead.client import Client
from roadstead.errors import NotFound, Rejected
from roadstead.models.jobs import JobState, WholeJob
from roadstead.models.objects import Deleted
from roadstead.models.record import Json

_WOULD: Final = "wouldDelete"
_ELSEWHERE: Final = "ownedElsewhere"


class DeletionOptions(NamedTuple):
    """Options of a deletion: `drain` of a ClusterQueue, `dry_run` only shows what follows."""

    drain: bool
    dry_run: bool


@click.command()
@click.argument("what", metavar="[KIND NAME... | KIND/NAME...]", nargs=-1)
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Delete what a file, a folder or '-' describes, the last first. May be given several times.",
)
@recursive_option
@click.option(
    "-n", "--namespace", metavar="NAME", help="For names without one [default: default]."
)
@click.option("--drain", is_flag=True, help="Take back first what a ClusterQueue has admitted.")
@click.option(
    "--dry-run", is_flag=True, help="Show what the deletion would do in members; delete nothing."
)
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no failure.")
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
    """Delete objects of any kind, and jobs: by name, or as manifests name them.

    KIND is written in any case, plural or short: clusterqueue, cq, namespace, placement, cluster, job,
    or with its group, as Widget.example.com. What lives in a namespace is named NAME with -n, or
    NAMESPACE/NAME. What the hub refuses keeps none of the others back; the exit code is 3 then.

    For each member it says which objects are deleted, which are released and stay there, and which are
    left as they are. --dry-run says only this. For an object that kubectl made it names the command that
    deletes it.
    """
    if bool(what) == bool(files):
        raise click.UsageError("Name what is to go: KIND NAME, KIND/NAME, or -f FILE.")
    sources = read_sources(files, recursive=recursive)
    meant = [each.target for source in sources for each in described(source, namespace)]
    if files and not meant:
        raise click.UsageError("There is nothing to delete in what -f names.")
    told: list[Json] = []
    asked = DeletionOptions(drain=drain, dry_run=dry_run)
    with client(ctx) as hub:
        targets = meant[::-1] or _named(hub, what, namespace)
        with progress("deleting", len(targets)) as advance:
            for target in targets:
                raw = _try(hub, target, asked, absent_is_well=ignore_not_found)
                if raw is not None:
                    told.append({"kind": target.kind.name, "name": target.name, **raw})
                    if output == "text":
                        _show(target, raw)
                advance(1)
    if output != "text":
        dump({"items": told}, output)
    return 0 if len(told) == len(targets) else Rejected.exit_code


def _named(hub: Client, what: Sequence[str], namespace: str | None) -> list[Target]:
    """`KIND NAME...` or `KIND/NAME...`; a NAME may be NAMESPACE/NAME."""
    first, *names = what
    if "/" in first:
        pairs = [each.split("/", 1) for each in what]
        if any(len(each) < 2 or not all(each) for each in pairs):
            raise click.UsageError(f"{' '.join(what)}: expected KIND/NAME each time.")
    elif names:
        pairs = [[first, name] for name in names]
    else:
        raise click.UsageError(f"{first}: which one? Give KIND NAME or KIND/NAME.")
    known = {word: kinds.kind_of(hub, word) for word in dict.fromkeys(word for word, _ in pairs)}
    return [target(known[word], name, namespace) for word, name in pairs]


def _show(target: Target, raw: Json) -> None:
    words = {_WOULD: "would be deleted", _ELSEWHERE: f"is not deleted here: {raw.get('message')}"}
    say(f"{target.title} {words.get(raw['result'], raw['result'])}")
    for line in lines_of(Deleted.of({"members": [], **raw}).members):
        say(line)


def _try(
    hub: Client, target: Target, asked: DeletionOptions, *, absent_is_well: bool
) -> Json | None:
    """What became of it; None where the hub refused, which is said."""
    try:
        return _delete(hub, target, asked)
    except NotFound as absent:
        if absent_is_well:
            return {"result": "is not there"}
        refusal: Rejected = absent
    except Rejected as refused:
        refusal = refused
    words = sentence(refusal)
    if target.place or target.name not in words:
        where = f"{target.place} ({target.title})" if target.place else target.title
        words = words.replace("error: ", f"error: {where}: ", 1)
    say(words, err=True)
    return None


def _delete(hub: Client, target: Target, asked: DeletionOptions) -> Json:
    """What the hub answers, with `result` in words."""
    kind = target.kind
    full_name = f"{target.namespace}/{target.name}"
    if kind[:2] == ("batch", "Job"):
        if asked.dry_run:
            return {"result": _WOULD} | _of(hub.job(full_name))
        job = hub.delete_job(full_name)
        withdrawn = f"is being withdrawn from {job.cluster}"
        return {"result": withdrawn if job.state == JobState.WITHDRAWING else "deleted"} | _of(job)
    if kind[:2] == (kinds.KUEUE, "Workload") and not asked.dry_run:
        return {"result": "deleted"} | _of(hub.delete_workload(full_name))
    drained = asked.drain and kind[:2] == (kinds.KUEUE, "ClusterQueue")
    try:
        return _delete_object(hub, target, target.namespace, asked._replace(drain=drained))
    except NotFound:
        if kind.namespaced is not None:
            raise
    # Nobody has said whether it has a namespace.
    return _delete_object(hub, target, "", asked._replace(drain=False))


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

"""`roadstead jobs resubmit`: a copy of a job as it was received, under another name."""

import re
from typing import Any, Final

import click

from roadstead.cli.chains import AFTER, after_option, waiting_for
from roadstead.cli.each import for_each
from roadstead.cli.examples import examples
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, dump
from roadstead.cli.progress import say
from roadstead.cli.submitted import print_taken, suggest
from roadstead.client import Client
from roadstead.errors import Rejected
from roadstead.models.jobs import Job, WholeJob

Json = dict[str, Any]
_AGAIN: Final = re.compile(r"(.+)-r(\d{1,6})")
_TRIES: Final = 50
_LONGEST: Final = 63
_HIDDEN: Final = "[hidden]"  # what the hub shows in place of what somebody may not see
# What an API server adds to a Job for itself, and says of its pods.
_OF_THE_SERVER: Final = ("selector", "manualSelector", "managedBy", "suspend")
_LABELS_OF_THE_SERVER: Final = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)


@examples(
    "roadstead jobs resubmit team-a/train",
    "roadstead jobs resubmit team-a/train --name train-large",
)
@click.command("resubmit")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.option("--name", "new", metavar="NAME", help="Its new name [default: NAME-r2, -r3, ...].")
@click.option("-n", "--namespace", metavar="NAME", help="For names without one.")
@after_option
@click.option("--dry-run", is_flag=True, help="Print the Job as YAML; submit nothing.")
@answer_option
@click.pass_context
def resubmit(
    ctx: click.Context,
    names: tuple[str, ...],
    new: str | None,
    namespace: str | None,
    after: str,
    dry_run: bool,
    output: str,
) -> int:
    """Submit jobs once more, under new names.

    Copies of them as they were received; what the first ones came to is no matter, and stays. Who may not
    see the environment variables of a job can not submit it again. A copy waits for those jobs that the
    first one still waits for, and for those that --after names. One that the hub refuses keeps none of
    the others back; the exit code is 3 then.
    """
    if new and len(names) > 1:
        raise click.UsageError("--name names one copy; several get names of their own.")
    wanted = [full_name(each, namespace) for each in names]
    if dry_run:
        how = "json" if output == "json" else "yaml"
        _, code = for_each(
            ctx,
            wanted,
            lambda hub, name: _copy(hub, name, new, after),
            lambda copy: dump(copy, how),
            "",
        )
        return code

    def tell(job: Job) -> None:
        if output == "text":
            print_taken(job)

    taken, code = for_each(
        ctx,
        wanted,
        lambda hub, name: _submit(hub, _copy(hub, name, new, after), may_rename=new is None),
        tell,
        "submitting",
    )
    if output != "text":
        dump({"items": [job.raw for job in taken]}, output)
    elif len(taken) == 1:
        suggest(taken[0])
    return code


def _copy(hub: Client, name: str, new: str | None, after: str) -> Json:
    """The copy of one job. Raises NotFound, and Rejected where it can not be the same."""
    job = hub.job(name)
    copy = copy_of(job.manifest, new or next_name(job.name))
    copy = waiting_for(_still_after(job, copy), after, job.namespace)
    if _is_hidden(copy):
        why = "its environment variables are hidden from you, and a copy would run without them"
        problem = {"code": "EnvironmentHidden", "detail": f"{job.full_name}: {why}"}
        raise Rejected(403, problem)
    return copy


def copy_of(manifest: Json, name: str) -> Json:
    """The manifest with another name, and without what an API server has added for itself."""
    spec = {k: v for k, v in manifest["spec"].items() if k not in _OF_THE_SERVER}
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("metadata"), dict):
        spec["template"] = {**template, "metadata": _own(template["metadata"])}
    metadata = {k: v for k, v in manifest["metadata"].items() if k != "ownerReferences"}
    return {**manifest, "metadata": {**_own(metadata), "name": name}, "spec": spec}


def _still_after(job: WholeJob, copy: Json) -> Json:
    """The copy waits for those that the first one still waits for: what has ended is of the past."""
    notes = copy["metadata"].get("annotations") or {}
    if AFTER not in notes:
        return copy
    left = [f"{a.name}:{a.condition}" for a in job.after if a.state == "Waiting"]
    past = [each.name for each in job.after if each.state != "Waiting"]
    if past:
        say(
            f"{job.full_name}: its copy does not wait for {', '.join(past)}; --after says whom it does",
            err=True,
        )
    kept = {key: value for key, value in notes.items() if key != AFTER}
    kept |= {AFTER: ", ".join(left)} if left else {}
    rest = {key: value for key, value in copy["metadata"].items() if key != "annotations"}
    return {**copy, "metadata": {**rest, "annotations": kept} if kept else rest}


def next_name(name: str) -> str:
    """`train-r2` of `train`, `train-r3` of that; within what Kubernetes takes."""
    found = _AGAIN.fullmatch(name)
    stem, number = (found[1], int(found[2]) + 1) if found else (name, 2)
    end = f"-r{number}"
    return stem[: _LONGEST - len(end)].rstrip("-.") + end


def _own(metadata: Json) -> Json:
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return metadata
    kept = {k: v for k, v in labels.items() if k not in _LABELS_OF_THE_SERVER}
    rest = {k: v for k, v in metadata.items() if k != "labels"}
    return {**rest, "labels": kept} if kept else rest


def _submit(hub: Client, copy: Json, *, may_rename: bool) -> Job:
    """Submit it, by the next name that is free. Raises Rejected."""
    for _ in range(_TRIES - 1 if may_rename else 0):
        try:
            return hub.submit(copy)
        except Rejected as no:
            if no.code not in {"AlreadyExists", "BeingDeleted"}:
                raise
        name = next_name(copy["metadata"]["name"])
        copy = {**copy, "metadata": {**copy["metadata"], "name": name}}
    return hub.submit(copy)


def _is_hidden(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("value") == _HIDDEN or any(_is_hidden(each) for each in value.values())
    return isinstance(value, list) and any(_is_hidden(each) for each in value)

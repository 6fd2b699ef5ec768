"""Chains of jobs on the command line: `--after`, and dependencies in `jobs show` and `explain`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from roadstead.cli.output import moment
from roadstead.cli.tables import wrapped
from roadstead.cli.visible import visible
from roadstead.models.chains import ChainedJob

AFTER: Final = "roadstead.dev/after"
_CONDITIONS: Final = ("ok", "any", "fail")
_SLURM: Final = {"afterok": "ok", "afterany": "any", "afternotok": "fail"}
_SHOWN: Final = 8
_VERBS: Final = {"ok": "to succeed", "any": "to end", "fail": "to fail"}


def after(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> str:
    """Parse `JOB[:ok|any|fail]`, also several separated by commas, into the annotation; "" if there is
    none.
    """
    found = [each.strip() for text in given for each in text.split(",")]
    for each in found:
        name, colon, condition = each.partition(":")
        if not name or (colon and condition not in _CONDITIONS):
            meant = _of_slurm(name, condition)
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise click.BadParameter(f"{each!r}: use JOB, or JOB with :ok, :any or :fail.{hint}")
    return ", ".join(found)


def _of_slurm(name: str, condition: str) -> str:
    """Translate Slurm's `afterok:JOB`, or `JOB:afterok`, into Roadstead's syntax; "" for anything else."""
    if name in _SLURM and condition:
        return f"{condition}:{_SLURM[name]}"
    return f"{name}:{_SLURM[condition]}" if name and condition in _SLURM else ""


after_option: Callable[[Any], Any] = click.option(
    "--after",
    callback=after,
    multiple=True,
    metavar="JOB[:ok|any|fail]",
    help="Start after this job has succeeded, ended or failed; may be given several times.",
)


def within(after: str, namespace: str) -> str:
    """Reduce the annotation to plain names: a job waits for jobs of its own namespace."""
    return ", ".join(_within(each, namespace) for each in after.split(", ")) if after else ""


def _within(text: str, namespace: str) -> str:
    space, slash, name = text.rpartition("/")
    if slash and space != namespace:
        words = f"--after {text}: a job waits for jobs of its own namespace, which is {namespace}."
        raise click.UsageError(words)
    return name


def waiting_for(manifest: dict[str, Any], after: str, namespace: str) -> dict[str, Any]:
    """Add these dependencies to the manifest of a Job."""
    if not after:
        return manifest
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    notes = metadata.get("annotations")
    notes = notes if isinstance(notes, dict) else {}
    asked = within(after, str(metadata.get("namespace") or namespace))
    names = ", ".join(each for each in (str(notes.get(AFTER) or ""), asked) if each)
    return {**manifest, "metadata": {**metadata, "annotations": {**notes, AFTER: names}}}


def lines(after: Sequence[ChainedJob], before: Sequence[ChainedJob]) -> list[str]:
    """List a job's dependencies with their states, and its dependents."""
    told: list[str] = []
    for each in after[:_SHOWN]:
        told += wrapped(f"after {_named(each)}: {_standing(each)}", "  ")
    if len(after) > _SHOWN:
        told.append(f"  and {len(after) - _SHOWN} more")
    waiting = [each for each in before if each.state == "Waiting"]
    if waiting:
        names = ", ".join(visible(each.name) for each in waiting[:_SHOWN])
        more = f" and {len(waiting) - _SHOWN} more" if len(waiting) > _SHOWN else ""
        told += wrapped(f"waited for by {names}{more}", "  ")
    return told


def _named(each: ChainedJob) -> str:
    return f"{visible(each.name)}, which is {_VERBS.get(each.condition, each.condition)}"


def _standing(each: ChainedJob) -> str:
    if each.state != "Waiting":
        ended = f" ({each.ended})" if each.ended else ""
        return f"{_STATES.get(each.state, each.state)}{ended}"
    if not each.job_state:
        return "no job of that name has been submitted yet"
    where = f" in {each.job_cluster}" if each.job_cluster else ""
    return f"{each.job_state}{where} since {moment(each.since)}"


_STATES: Final = {
    "Satisfied": "it did",
    "NeverSatisfied": "it did not, and never will",
    "Waived": "released regardless",
}

"""Arrays: one Indexed Job for many similar jobs. Parses `0-199%20` and passes the index to the command.

Kubernetes counts the pods of an Indexed Job from 0 and sets JOB_COMPLETION_INDEX. ROADSTEAD_ARRAY_INDEX is
the index that the user asked for: equal if the array begins at 0 with step 1, and then taken from the pod's
annotation; otherwise a shell computes it before the command.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import click

Json = dict[str, Any]
MOST: Final = 100_000  # completions of a Job with backoffLimitPerIndex, as Kubernetes bounds them
INDEX: Final = "ROADSTEAD_ARRAY_INDEX"
_ANNOTATION: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_TEXT: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?(?:%(\d{1,9}))?", re.ASCII)


@dataclass(frozen=True)
class Array:
    """Indexes from `first` to `last` by `step`, at most `at_once` of them at a time."""

    first: int
    last: int
    step: int
    at_once: int

    @property
    def count(self) -> int:
        """Number of indexes."""
        return (self.last - self.first) // self.step + 1

    @property
    def is_shifted(self) -> bool:
        """Return whether its indexes differ from Kubernetes'."""
        return self.first != 0 or self.step != 1

    def spec(self, retries: int) -> Json:
        """The fields of the Job; an index that fails finally does not stop the others."""
        return {
            "completionMode": "Indexed",
            "completions": self.count,
            "parallelism": self.at_once,
            "backoffLimitPerIndex": retries,
        }

    def command(self, words: list[str]) -> list[str]:
        """The command, wrapped in a shell if the index must be computed."""
        if not self.is_shifted:
            return words
        sum_ = f"JOB_COMPLETION_INDEX * {self.step} + {self.first}"
        return ["/bin/sh", "-c", f'export {INDEX}=$(({sum_})); exec "$@"', "sh", *words]

    def env(self) -> list[Json]:
        """Environment variables with the index, and the first, last and step of the array."""
        own: Json = {"name": INDEX, "valueFrom": {"fieldRef": {"fieldPath": _ANNOTATION}}}
        told: list[Json] = [
            {"name": "ROADSTEAD_ARRAY_FIRST", "value": str(self.first)},
            {"name": "ROADSTEAD_ARRAY_LAST", "value": str(self.last)},
            {"name": "ROADSTEAD_ARRAY_STEP", "value": str(self.step)},
        ]
        return told if self.is_shifted else [own, *told]


def array(_ctx: click.Context, _option: click.Parameter, given: str | None) -> Array | None:
    """Parse the value of `--array`. Raises click.BadParameter."""
    return None if given is None else read(given)


def read(text: str) -> Array:
    """`0-199%20`: indexes from 0 to 199, 20 at once; `1-9:2` in steps of two. Raises click.BadParameter."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(
            f"{text!r}: use FIRST-LAST with optional :STEP and %AT-ONCE, such as 0-199%20."
        )
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    step = int(found[3] or 1)
    if last < first or not step:
        raise click.BadParameter(
            f"{text!r} is empty: LAST must not be below FIRST, and STEP not 0."
        )
    count = (last - first) // step + 1
    if count > MOST:
        raise click.BadParameter(f"{text!r} has {count} numbers; a Job has {MOST} at most.")
    at_once = int(found[4]) if found[4] else count
    if not at_once:
        raise click.BadParameter(f"{text!r} would run nothing: %AT-ONCE must be at least 1.")
    return Array(first, last, step, min(at_once, count))


def spread(job: Json, wanted: Array) -> Json:
    """Turn the Job of a manifest into an array. Raises click.UsageError if its indexes would need a shell."""
    if wanted.is_shifted:
        raise click.UsageError(
            "--array for a manifest must start at 0 with step 1; `roadstead run --array` has no such limit."
        )
    spec = dict(job.get("spec") or {})
    retries = spec.pop("backoffLimit", 0)
    spec |= wanted.spec(retries if isinstance(retries, int) else 0)
    template = dict(spec.get("template") or {})
    pod = dict(template.get("spec") or {})
    pod["containers"] = [_with_env(each, wanted.env()) for each in pod.get("containers") or []]
    return {**job, "spec": {**spec, "template": {**template, "spec": pod}}}


def _with_env(container: Any, env: list[Json]) -> Any:
    if not isinstance(container, dict):
        return container
    return {**container, "env": [*(container.get("env") or []), *env]}

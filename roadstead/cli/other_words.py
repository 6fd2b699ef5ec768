"""Suggestions for mistyped commands, and for words of other tools."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any, Final

import click

_MEANT: Final[Mapping[str, str]] = {
    "describe": "explain",
    "list": "jobs ls",
    "ls": "jobs ls",
    "ps": "jobs ls",
    "queue": "queues",
    "sacct": "jobs ls",
    "sbatch": "run",
    "scancel": "jobs cancel",
    "scontrol": "jobs show",
    "sinfo": "clusters ls",
    "sprio": "queues pending",
    "squeue": "jobs ls",
    "srun": "run --wait",
    "sshare": "queues show",
    "status": "jobs ls",
}
# Verbs of jobs that stand below `jobs`, and those about jobs that do not.
_OF_JOBS: Final = ("cancel", "hold", "pods", "priority", "release", "resubmit", "show", "wait")
_BESIDE_JOBS: Final = ("events", "explain", "logs", "run", "submit", "top")


def instead(given: str, verbs: Collection[str]) -> str:
    """Suggest a command for an unknown word; "" if there is none."""
    if given in _OF_JOBS:
        return f" Did you mean 'jobs {given}'?"
    near = _MEANT.get(given) or next(iter(difflib.get_close_matches(given, verbs, n=1)), "")
    return f" Did you mean {near!r}?" if near else ""


class AboutJobs(click.Group):
    """The group `jobs`, which suggests verbs that exist elsewhere."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in _BESIDE_JOBS:
            program = ctx.find_root().info_name
            said = f"No such command {args[0]!r}. Did you mean '{program} {args[0]}'?"
            raise click.UsageError(said, ctx)
        return super().resolve_command(ctx, args)


# Options of sbatch and srun that have another name here.
_OPTIONS: Final[Mapping[str, str]] = {
    "--account": "--queue",
    "--constraint": "--annotation roadstead.dev/cluster-selector=KEY=VALUE",
    "--cpus-per-task": "--cpu",
    "--dependency": "--after",
    "--export": "--env",
    "--gres": "--gpus",
    "--job-name": "--name",
    "--mem": "--memory",
    "--ntasks": "--parallelism",
    "--partition": "--queue",
    "--qos": "--priority",
    "--requeue": "--retry",
}


class FromElsewhere(click.Command):
    """A command that suggests its options for Slurm's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as unknown:
            meant = _OPTIONS.get(unknown.option_name)
            if meant is None:
                raise
            said = f"No such option {unknown.option_name!r}. Use {meant}."
            raise click.UsageError(said, ctx) from unknown

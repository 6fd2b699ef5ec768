"""The `roadstead` command: options every verb shares, and verbs loaded only when they are called.

Exit codes, for scripts: 0 done; 1 a job that was waited for did not succeed; 2 wrong usage;
3 the hub refused; 4 no or wrong credential; 5 no hub there.
"""

import importlib
import sys
from typing import Any

import click

from roadstead.errors import Rejected, RoadsteadError

# verb → (module of roadstead.cli, its click command, one line of help)
VERBS: dict[str, tuple[str, str, str]] = {
    "apply": ("apply", "apply", "Apply manifests of any kind, as kubectl would."),
    "clusters": ("clusters", "clusters", "Member clusters: list, show, add, cordon."),
    "demo": ("demo", "demo", "Start a fleet on this machine and run the guide's jobs on it."),
    "drift": ("drift", "drift", "Objects that no longer are as the hub wants them."),
    "events": ("events", "events", "What happened lately, in the whole fleet or to one job."),
    "explain": ("explain", "explain", "Where a job is and why it waits or went there."),
    "jobs": ("jobs", "jobs", "Jobs: list, show, cancel."),
    "placements": ("placements", "placements", "Placements: list, show."),
    "queues": ("queues", "queues", "Queues: quota, usage, who waits."),
    "simulate": ("simulate", "simulate", "What the scheduler would decide, from files alone."),
    "submit": ("submit", "submit", "Submit a Job, and wait for it if you like."),
    "up": ("up", "up", "Run a hub with simulated clusters and their agents, here."),
}


class _Verbs(click.Group):
    """Loads a verb's module when it is called; help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, name, _ = VERBS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"roadstead.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, VERBS[verb][2]) for verb in sorted(VERBS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--server", metavar="URL", help="Address of the hub [ROADSTEAD_SERVER].")
@click.option("--token", metavar="TOKEN", help="Bearer token [ROADSTEAD_TOKEN].")
@click.version_option(package_name="roadstead", message="%(version)s")
@click.pass_context
def cli(ctx: click.Context, server: str | None, token: str | None) -> None:
    """Sends batch jobs to whichever of your Kubernetes clusters can run them.

    Without --server and --token, the address and the credential that `roadstead up` left in its
    data folder are used (ROADSTEAD_DATA, else ~/.roadstead).
    """
    ctx.obj = {"server": server, "token": token}


def main(args: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    try:
        answer: Any = cli.main(args=args, prog_name="roadstead", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as failure:
        failure.show()
        sys.exit(failure.exit_code)
    except RoadsteadError as failure:
        click.echo(_sentence(failure), err=True)
        sys.exit(failure.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(answer if isinstance(answer, int) else 0)


def _sentence(failure: RoadsteadError) -> str:
    lines = [f"error: {failure}"]
    if isinstance(failure, Rejected):
        lines += [
            f"  {e.field}: {e.message}"
            for e in failure.errors
            if e.field and e.message != failure.detail
        ]
        request = failure.problem.get("requestId")
        if request:
            lines.append(f"  (request {request})")
    return "\n".join(lines)

"""The `roadstead` command: options every verb shares, and verbs loaded only when they are called.

Exit codes, for scripts: 0 success; 1 a job did not succeed; 2 wrong usage; 3 the hub rejected the request,
or has no such object; 4 missing or wrong credential; 5 no hub answers; 6 timed out waiting; 130 Ctrl-C. The
errors of `roadstead.errors` define them.
"""

import importlib
import io
import os
import sys
from typing import Any

import click

from roadstead.cli.visible import say
from roadstead.errors import RoadsteadError

# verb → (module of roadstead.cli, its click command, one line of help)
VERBS: dict[str, tuple[str, str, str]] = {
    "access": ("access", "access", "Role bindings: list, bind, unbind."),
    "admin": ("admin.verbs", "admin", "The hub's store: schema, backups, health."),
    "apply": ("apply", "apply", "Apply manifests of any kind, as kubectl would."),
    "audit": ("access", "audit", "Audit of changes: list, by user, verb, kind, time."),
    "auth": ("access", "auth", "Your rights: can-i."),
    "checks": ("checks", "checks", "Admission checks: list open ones; answer."),
    "clusters": ("clusters", "clusters", "Member clusters: list, show, add, cordon, remove."),
    "context": ("contexts", "context", "Saved logins: list, use, remove."),
    "cronjobs": ("cron_jobs", "cron_jobs", "CronJobs: list, suspend, resume."),
    "delete": ("delete", "delete", "Delete objects of any kind, by name or from manifests."),
    "demo": ("demo", "demo", "Start a fleet on this machine and run the guide's jobs on it."),
    "diff": ("diff", "diff", "Show what applying manifests would change."),
    "drift": ("drift", "drift", "Drift: list, accept, restore, ignore."),
    "events": ("events", "events", "Recent events of the whole fleet or of one job."),
    "explain": ("explain", "explain", "Explain where a job is and why it waits or runs there."),
    "export": ("export", "export", "Print the hub's objects as manifests, to apply or simulate."),
    "get": ("get", "get", "Show objects of any kind, as a table or as manifests."),
    "hand-over": ("hand_over", "hand_over", "Hand an object over, from kubectl to REST or back."),
    "hub-cluster": ("hub_cluster", "hub_cluster", "The bridge to the hub cluster: show, resume."),
    "jobs": ("jobs", "jobs", "Jobs: list, show, pods, wait, resubmit, cancel, delete."),
    "logs": ("logs", "logs", "Show the output of a job's pods, wherever it runs."),
    "plan": ("plan", "plan", "Preview where manifests would go if applied now."),
    "kinds": ("work_kinds", "kinds", "Kinds of work: those built in, and checks of others."),
    "login": ("login", "login", "Save a hub's address and your token for it."),
    "logout": ("by_device", "logout", "Remove a saved login; revoke its provider's token."),
    "placements": (
        "placements",
        "placements",
        "Placements: list, show, roll back, rebalance, evict.",
    ),
    "queues": ("queues", "queues", "Queues: quota, usage, waiting jobs; stop, resume, set."),
    "restored": ("restored", "restored", "Show whether the hub's store was rolled back; resume."),
    "rollouts": ("rollouts", "rollouts", "Staged rollouts: show, approve, stop, roll back."),
    "run": ("run.verb", "run", "Run a command as a Job."),
    "simulate": ("simulate", "simulate", "Simulate the scheduler on files."),
    "submit": ("submit", "submit", "Submit a Job, and wait for it if you like."),
    "tokens": ("tokens", "tokens", "Tokens of people: list, issue, revoke."),
    "top": ("top", "top", "Show clusters, queues and jobs on one screen."),
    "up": ("up", "up", "Run a hub with simulated clusters and their agents, here."),
    "whoami": ("access", "whoami", "Show your name and roles at the hub."),
    "works": ("revisions", "works", "Works: desired objects of each cluster, and their states."),
    "workloads": ("workloads", "workloads", "Workloads, as Kueue shows them."),
}
# Verbs that need more than the SDK, and the extra of pyproject.toml that brings it.
_NAMES = ("roadstead", "kubectl roadstead")
EXTRAS = {"admin": "hub", "demo": "all", "kinds": "hub", "simulate": "hub", "up": "all"}


def _asked_by(program: str) -> str:
    """The variable that a shell sets to ask for completions."""
    return f"_{program.replace(' ', '_')}_complete".upper()


class _NotInstalled(RoadsteadError):
    """A verb's packages are not installed; the message says how to install them."""

    exit_code = 2


class _Verbs(click.Group):
    """Loads a verb's module when it is called; help needs none of them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader, such as `head`, has gone; nothing is left to flush to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except ModuleNotFoundError as missing:
            verb = ctx.invoked_subcommand
            if verb not in EXTRAS:
                raise
            from shared.extras import what_to_install

            wanted = what_to_install(missing, f"roadstead {verb}", EXTRAS[verb])
            raise _NotInstalled(wanted) from missing
        return answer

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, name, _ = VERBS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"roadstead.cli.{module}"), name)
        if any(_asked_by(each) in os.environ for each in _NAMES):
            from roadstead.cli.completing import offer

            offer(command, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, VERBS[verb][2]) for verb in sorted(VERBS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from roadstead.cli.other_words import instead

            said = f"No such command {args[0]!r}.{instead(args[0], VERBS)}"
            raise click.UsageError(said, ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--server", metavar="URL", help="Address of the hub [ROADSTEAD_SERVER].")
@click.option("--token", metavar="TOKEN", help="Bearer token [ROADSTEAD_TOKEN].")
@click.option("--ca", metavar="FILE", help="CA of the hub's certificate [ROADSTEAD_CA].")
@click.option("--context", metavar="NAME", help="A saved login [ROADSTEAD_CONTEXT].")
@click.version_option(package_name="roadstead", message="%(prog)s %(version)s")
@click.pass_context
def cli(
    ctx: click.Context,
    server: str | None,
    token: str | None,
    ca: str | None,
    context: str | None,
) -> None:
    """Sends batch jobs to whichever of your Kubernetes clusters can run them.

    Without --server, --token and --context, the command uses the saved login (`roadstead login`), else the
    address and the credential that `roadstead up` left in its data folder (ROADSTEAD_DATA, which overrides
    a login, else ~/.roadstead).

    Exit codes: 0 success, 1 a job failed, 2 wrong usage, 3 rejected or not found, 4 not allowed, 5 no hub
    answers, 6 timed out waiting, 130 Ctrl-C.
    """
    ctx.obj = {"server": server, "token": token, "ca": ca, "context": context}


def kubectl_main() -> None:
    """Run the command as `kubectl roadstead`: kubectl finds it by the name `kubectl-roadstead`."""
    main(program="kubectl roadstead")


def main(args: list[str] | None = None, *, program: str = "roadstead") -> None:
    """Run the command and exit with its code."""
    try:
        answer: Any = cli.main(
            args=args, prog_name=program, complete_var=_asked_by(program), standalone_mode=False
        )
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as failure:
        told = io.StringIO()
        failure.show(told)
        say(told.getvalue(), err=True, nl=False)
        sys.exit(failure.exit_code)
    except RoadsteadError as failure:
        from roadstead.cli.messages import sentence

        say(sentence(failure), err=True)
        sys.exit(failure.exit_code)
    sys.exit(answer if isinstance(answer, int) else 0)

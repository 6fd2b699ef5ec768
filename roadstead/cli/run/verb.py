"""`roadstead run`: makes a Job from a command, submits it, and can wait for it."""

import os
import secrets
from typing import Any

import click

from roadstead.cli.chains import AFTER, after_option, within
from roadstead.cli.examples import examples
from roadstead.cli.names import default_namespace
from roadstead.cli.other_words import FromElsewhere
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.run import amounts, kinds
from roadstead.cli.run.array import Array, array
from roadstead.cli.run.manifest import DEFAULT_IMAGE, Wanted, manifest, name_for
from roadstead.cli.submitted import print_taken, suggest, wait_all
from roadstead.errors import JobFailed

# No vowels: a suffix is no word, as Kubernetes has it.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def _pairs(_ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse `KEY=VALUE`. A bare KEY takes the value of this environment."""
    found = {}
    for each in given:
        key, is_pair, value = each.partition("=")
        if not is_pair and option.name == "env" and key in os.environ:
            value = os.environ[key]
        elif not key or not is_pair:
            raise click.BadParameter(f"{each!r}: use KEY=VALUE.")
        found[key] = value
    return found


@examples(
    "roadstead run --gpus 2 --cpu 8 --memory 16Gi -- python train.py --epochs 3",
    "roadstead run --array 0-199%20 -- python sweep.py",
    "roadstead run --wait -n team-a -q local-queue -- ./test.sh",
    "roadstead run --kind pytorch --workers 3 -q main -- torchrun train.py",
    "roadstead run --after prepare --after fetch:any -- python train.py",
    "roadstead run --dry-run -- python train.py | kubectl apply -f -",
)
@click.command(cls=FromElsewhere, context_settings={"allow_interspersed_args": False})
@click.argument(
    "command", metavar="[--] COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.option(
    "--name", metavar="NAME", help="Its name [default: the script's, with a random suffix]."
)
@click.option("-n", "--namespace", metavar="NAME", help="Its namespace [default: default].")
@click.option(
    "--image",
    envvar="ROADSTEAD_IMAGE",
    default=DEFAULT_IMAGE,
    show_default=True,
    metavar="IMAGE",
    help="Image [ROADSTEAD_IMAGE].",
)
@click.option(
    "--cpu",
    callback=amounts.cpu,
    default="1",
    show_default=True,
    metavar="N",
    help="CPUs of each pod, such as 8 or 500m.",
)
@click.option(
    "--memory",
    callback=amounts.memory,
    metavar="BYTES",
    help="Memory of each pod, such as 16Gi, and its limit [default: 1Gi, no limit].",
)
@click.option(
    "--gpus",
    callback=amounts.gpus,
    metavar="[RESOURCE=]N",
    help="GPUs of each pod; nvidia.com/gpu unless RESOURCE names another.",
)
@click.option(
    "--resource",
    "more",
    callback=amounts.resources,
    multiple=True,
    metavar="NAME=QUANTITY",
    help="Other resources of each pod, such as example.com/fpga=1.",
)
@click.option(
    "-q",
    "--queue",
    metavar="NAME",
    help="Its LocalQueue [with --kind: default, else the only one].",
)
@click.option("--priority", metavar="CLASS", help="Its WorkloadPriorityClass.")
@click.option(
    "-e",
    "--env",
    callback=_pairs,
    multiple=True,
    metavar="KEY[=VALUE]",
    help="Environment variable; a bare KEY copies its value from here.",
)
@click.option(
    "--array",
    callback=array,
    metavar="FIRST-LAST[:STEP][%AT-ONCE]",
    help="Run the command once for each index, in one Indexed Job; sets ROADSTEAD_ARRAY_INDEX.",
)
@click.option(
    "--parallelism",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Run N pods at once; each has its own JOB_COMPLETION_INDEX.",
)
@click.option(
    "--kind",
    type=click.Choice(kinds.KINDS),
    default="job",
    show_default=True,
    help="What runs it: a Job, a JobSet, a PyTorchJob or a RayJob.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 10_000),
    metavar="N",
    help="With --kind: N pods of a JobSet; N workers beside PyTorch's master or Ray's head "
    "[default: 1].",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 1000),
    default=0,
    show_default=True,
    metavar="N",
    help="Restart a failed pod up to N times; with --array, each index.",
)
@click.option(
    "--retry",
    "attempts",
    type=click.IntRange(2, 99_999),
    metavar="N",
    help="Retry a failed job, elsewhere if possible: N attempts in all.",
)
@click.option(
    "--retry-on",
    metavar="CODE|REASON[,...]",
    help="With --retry: only after these exit codes or reasons, such as 137,OOMKilled.",
)
@click.option(
    "--time",
    "limit",
    callback=amounts.seconds_with_unit,
    metavar="DURATION",
    help="Time limit: 90s, 2h, 1h30m.",
)
@after_option
@click.option("--label", "labels", callback=_pairs, multiple=True, metavar="KEY=VALUE",
              help="Label of the Job.")  # fmt: skip
@click.option("--annotation", "annotations", callback=_pairs, multiple=True, metavar="KEY=VALUE",
              help="Annotation, such as roadstead.dev/cluster-selector=tier=gpu.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the Job as YAML; submit nothing.")
@click.option(
    "--wait", is_flag=True, help="Wait until it has ended: exit code 0 if it succeeded, else 1."
)
@click.option(
    "--timeout",
    callback=amounts.seconds,
    metavar="DURATION",
    help="With --wait: stop waiting after this long, with exit code 6. The job continues.",
)
@answer_option
@click.pass_context
def run(ctx: click.Context, /, output: str, *, dry_run: bool, wait: bool, **given: Any) -> int:
    """Run a command as a Job, wherever there is room for it; as another kind with --kind.

    COMMAND runs in the image verbatim; `--` before it ends the options. --dry-run prints the Job, which
    `submit` and `kubectl` accept as well.
    """
    timeout = given.pop("timeout")
    if timeout is not None and not wait:
        raise click.UsageError("--timeout needs --wait.")
    if given["array"] and given["parallelism"]:
        raise click.UsageError("--array sets the parallelism itself: FIRST-LAST%AT-ONCE.")
    if given["retry_on"] and not given["attempts"]:
        raise click.UsageError("--retry-on needs --retry.")
    kind, workers = given.pop("kind"), given.pop("workers")
    sized = bool(given["array"] or given["parallelism"])
    image = given["image"]
    number = kinds.check(
        kind, sized=sized, workers=workers, image=image, default_image=DEFAULT_IMAGE
    )
    made = manifest(_wanted(**given))
    if kind != "job":
        made = kinds.of_kind(made, kind, number)
    if dry_run:
        dump(made, "json" if output == "json" else "yaml")
        return 0
    quiet = output != "text"
    with client(ctx) as hub:
        kinds.choose_queue(hub, made, given["queue"])
        job = hub.submit(made)
        if not quiet:
            print_taken(job)
        ended = wait_all(hub, [job], timeout, quiet=quiet) if wait else []
    if quiet:
        dump((ended[0] if ended else job).raw, output)
    if ended and not ended[0].has_succeeded:
        raise JobFailed(ended)
    if not wait and not quiet:
        suggest(job)
    return 0


def _wanted(
    command: tuple[str, ...],
    name: str | None,
    namespace: str | None,
    image: str,
    cpu: str,
    memory: str | None,
    gpus: tuple[str, str] | None,
    more: dict[str, str],
    queue: str | None,
    priority: str | None,
    env: dict[str, str],
    array: Array | None,
    parallelism: int | None,
    retries: int,
    attempts: int | None,
    retry_on: str | None,
    limit: int | None,
    after: str,
    labels: dict[str, str],
    annotations: dict[str, str],
) -> Wanted:
    devices = {**dict([gpus] if gpus else []), **more}
    space = namespace or default_namespace() or "default"
    asked = {AFTER: within(after, space), RETRY: attempts, RETRY_ON: retry_on}
    notes = {**annotations, **{key: str(value) for key, value in asked.items() if value}}
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(5))
    return Wanted(
        command,
        name or name_for(command, suffix),
        space,
        image,
        queue or "",
        priority or "",
        {"cpu": cpu, "memory": memory or "1Gi", **devices},
        {**({"memory": memory} if memory else {}), **devices},
        env,
        labels,
        {k: v for k, v in notes.items() if not k.startswith(_POD_S)},
        {k: v for k, v in notes.items() if k.startswith(_POD_S)},
        parallelism or 1,
        array,
        retries,
        limit,
    )


RETRY, RETRY_ON = "roadstead.dev/retry", "roadstead.dev/retry-on"
# What the simulated kubelet goes by stands at the pods.
_POD_S = "sim.roadstead.dev/"

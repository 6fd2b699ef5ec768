"""`roadstead hub-cluster`: the bridge to the cluster where people use kubectl."""

import click

from roadstead.cli.output import answer_option, client, show_one
from roadstead.cli.visible import say
from roadstead.models.hub import HubCluster

_SHOWN = {
    "None": "not mirrored",
    "All": "shown there",
    "Some": "mirrored, up to the limit (ROADSTEAD_BRIDGE_JOBS_AT_MOST)",
}
_MIRRORS = {
    "Guarded": "only the hub changes them",
    "None": (
        "the hub reverts changes to them; to have them refused: kubectl apply -f "
        "deploy/hub-cluster/mirror-guard.yaml"
    ),
    "Unknown": "unknown whether other users may change them",
}


@click.group("hub-cluster")
def hub_cluster() -> None:
    """Manage the bridge to the cluster where people use kubectl."""


@hub_cluster.command("show")
@answer_option
@click.pass_context
def show(ctx: click.Context, output: str) -> None:
    """Show whether the bridge runs, and why it has stopped."""
    with client(ctx) as hub:
        show_one(hub.hub_cluster(), output, _as_text)


@hub_cluster.command("resume")
@click.argument("reason")
@click.pass_context
def resume(ctx: click.Context, reason: str) -> None:
    """Resume the bridge after it stopped for REASON.

    `hub-cluster show` names the reason and the effect of resuming. After AbsentWithoutDeletion and
    TooManyDeletions, absent objects count as deleted, and the hub withdraws jobs among them.
    """
    with client(ctx) as hub:
        told = hub.resume_hub_cluster(reason)
    say(f"the bridge resumes: {told.resuming}")


def _as_text(told: HubCluster) -> str:
    if not told.reason:
        return "The hub has no hub cluster."
    lines = [f"Hub cluster {told.uid or '(not reached yet)'}"]
    if told.reason == "HubClusterSilent":
        lines.append(f"It does not answer: {told.message}")
        lines.append("The bridge resumes when it does.")
        return "\n".join(lines)
    if told.jobs:
        lines.append(f"Jobs there: {told.jobs}: {told.jobs_message}")
    if told.jobs_shown:
        lines.append(f"Jobs that came by REST: {_SHOWN.get(told.jobs_shown, told.jobs_shown)}")
    if told.records_shown == "Some":
        lines.append("Records of placements: the limit is reached; some are not shown")
    if told.mirrors:
        lines.append(f"Mirrors there: {_MIRRORS.get(told.mirrors, told.mirrors)}")
    if told.running:
        return "\n".join([*lines, "The bridge is running."])
    if told.reason == "HubClusterStarting":
        return "\n".join([*lines, f"The bridge is starting: {told.message}."])
    lines.append(f"The bridge has stopped: {told.reason}: {told.message}")
    if told.resuming:
        lines.append(f"To resume: roadstead hub-cluster resume {told.reason}")
        lines.append(f"Then {told.resuming}.")
    return "\n".join(lines)

"""`roadstead workloads`: what waits and runs, as Kueue shows it."""

from typing import Any

import click

from roadstead.cli.absent import refuse_absent
from roadstead.cli.output import (
    Column,
    age,
    answer_option,
    client,
    output_option,
    show_list,
    show_one,
    watch_option,
    wrapped,
)

Json = dict[str, Any]


def _condition(kind: str) -> Column:
    """A column with a condition's status."""

    def cell(workload: Json) -> str:
        found = [c["status"] for c in workload["status"]["conditions"] if c["type"] == kind]
        return str(found[0]) if found else ""

    return Column(kind.upper(), cell)


COLUMNS = [
    Column("NAMESPACE", lambda w: w["metadata"]["namespace"], shrinks=True),
    Column("NAME", lambda w: w["metadata"]["name"], shrinks=True),
    Column("QUEUE", lambda w: w["spec"].get("queueName", ""), shrinks=True),
    Column("RESERVED IN", lambda w: w["status"].get("admission", {}).get("clusterQueue", "")),
    _condition("Admitted"),
    _condition("Finished"),
    Column("CLUSTER", lambda w: w["status"].get("clusterName", ""), wide=True),
    Column("AGE", lambda w: age(w["metadata"]["creationTimestamp"])),
]


@click.group()
def workloads() -> None:
    """Workloads: jobs, and what others run, with Kueue's conditions."""


@workloads.command("ls")
@click.option("-n", "--namespace", metavar="NAME", help="Only this namespace.")
@click.option("--queue", metavar="NAME", help="Only this LocalQueue.")
@click.option("--cluster-queue", metavar="NAME", help="Only this ClusterQueue.")
@click.option("--condition", metavar="TYPE[=STATUS]", help="Only with this condition.")
@click.option("--limit", type=click.IntRange(min=1), default=100, help="At most; 100.")
@output_option
@watch_option
@click.pass_context
def list_workloads(ctx: click.Context, /, output: str, *, watch: bool, **given: Any) -> None:
    """List Workloads, newest first."""
    given["clusterQueue"] = given.pop("cluster_queue")
    with client(ctx) as hub:

        def rows() -> list[dict[str, Any]]:
            found = list(hub.workloads(**given))
            if not found and not watch:
                refuse_absent(hub, given)
            return found

        show_list(
            rows,
            COLUMNS,
            output,
            watch=watch,
            empty="No Workloads.",
        )


@workloads.command("show")
@click.argument("name")
@answer_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show one Workload and its conditions.

    NAME is namespace/name; the Workload of a job is called job-NAME-DIGITS.
    """
    with client(ctx) as hub:
        show_one(hub.workload(name), output, _as_text)


def _as_text(workload: Json) -> str:
    metadata, spec, status = workload["metadata"], workload["spec"], workload["status"]
    owners = metadata.get("ownerReferences") or []
    told = {
        "of": " ".join(f"{o['kind']} {o['name']}" for o in owners),
        "queue": spec.get("queueName"),
        "priority": spec.get("priority"),
        "active": None if spec.get("active", True) else "false",
        "reserved in": status.get("admission", {}).get("clusterQueue"),
        "cluster": status.get("clusterName"),
        "not before": status.get("requeueState", {}).get("requeueAt"),
    }
    lines = [f"Workload {metadata['namespace']}/{metadata['name']}"]
    lines += [f"  {name:<12} {value}" for name, value in told.items() if value not in (None, "")]
    for check in status.get("admissionChecks") or ():
        lines += wrapped(
            f"check {check['name']} {check['state']} {check['message']}".rstrip(), "  "
        )
    for each in status["conditions"]:
        lines += wrapped(
            f"{each['type']}={each['status']}  {each['reason']}: {each['message']}", "  "
        )
    return "\n".join(lines)

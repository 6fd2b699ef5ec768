"""`roadstead workloads`: waiting and running Workloads, as Kueue shows them."""

import click

from roadstead.cli.nouns import list_verb, show_verb
from roadstead.cli.output import age
from roadstead.cli.tables import Column, wrapped
from roadstead.client import Client
from roadstead.models.objects import KubernetesObject


def _condition(kind: str) -> Column:
    """A column with a condition's status."""

    def cell(workload: KubernetesObject) -> str:
        found = [c["status"] for c in workload.status["conditions"] if c["type"] == kind]
        return str(found[0]) if found else ""

    return Column(kind.upper(), cell)


COLUMNS = [
    Column("NAMESPACE", lambda w: w.metadata.namespace, shrinks=True),
    Column("NAME", lambda w: w.metadata.name, shrinks=True),
    Column("QUEUE", lambda w: w.spec.get("queueName", ""), shrinks=True),
    Column("RESERVED IN", lambda w: w.status.get("admission", {}).get("clusterQueue", "")),
    _condition("Admitted"),
    _condition("Finished"),
    Column("CLUSTER", lambda w: w.status.get("clusterName", ""), wide=True),
    Column("AGE", lambda w: age(w.metadata.creation_timestamp)),
]


@click.group()
def workloads() -> None:
    """Manage Workloads: jobs and bare Workloads, with Kueue's conditions."""


def _as_text(workload: KubernetesObject) -> str:
    metadata, spec, status = workload.metadata, workload.spec, workload.status
    told = {
        "of": " ".join(f"{o.kind} {o.name}" for o in metadata.owner_references),
        "queue": spec.get("queueName"),
        "priority": spec.get("priority"),
        "active": None if spec.get("active", True) else "false",
        "reserved in": status.get("admission", {}).get("clusterQueue"),
        "cluster": status.get("clusterName"),
        "not before": status.get("requeueState", {}).get("requeueAt"),
    }
    lines = [f"Workload {metadata.namespace}/{metadata.name}"]
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


workloads.add_command(
    list_verb(
        Client.workloads,
        COLUMNS,
        does="List Workloads, newest first.",
        empty="No Workloads.",
        options=[
            click.option("-n", "--namespace", metavar="NAME", help="Only this namespace."),
            click.option("--queue", metavar="NAME", help="Only this LocalQueue."),
            click.option("--cluster-queue", metavar="NAME", help="Only this ClusterQueue."),
            click.option("--condition", metavar="TYPE[=STATUS]", help="Only with this condition."),
            click.option(
                "--limit",
                type=click.IntRange(min=1),
                default=100,
                metavar="N",
                help="Maximum number [default: 100].",
            ),
        ],
    )
)
workloads.add_command(
    show_verb(
        Client.workload,
        _as_text,
        does="""Show one Workload and its conditions.

        NAME is namespace/name; the Workload of a job is called job-NAME-DIGITS.
        """,
    )
)

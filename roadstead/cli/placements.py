"""`roadstead placements`: what was selected and where it was put."""

from typing import Any

import click

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


def _clusters(placement: Json) -> str:
    names = [p["clusterName"] for p in placement["placementStatuses"] if p.get("clusterName")]
    return ",".join(names)


def _state(placement: Json) -> str:
    """The last rung of the ladder that was reached, or the first that is not true."""
    for condition in placement["conditions"]:
        if condition["status"] != "True":
            return f"{condition['type'].split('Placement')[-1]}: {condition['reason']}"
    rungs = [each for each in placement["conditions"] if each["type"] != "NotActedOn"]
    return rungs[-1]["reason"] if rungs else ""


COLUMNS = [
    Column("NAMESPACE", lambda p: p["namespace"]),
    Column("NAME", lambda p: p["name"]),
    Column("POLICY", lambda p: p["policy"].get("placementType", "PickAll")),
    Column("SELECTED", lambda p: len(p["selectedResources"])),
    Column("CLUSTERS", _clusters, shrinks=True),
    Column("STATE", _state, shrinks=True),
    Column("AGE", lambda p: age(p["createdAt"])),
]


@click.group()
def placements() -> None:
    """Placements: which objects and jobs go to which clusters."""


@placements.command("ls")
@output_option
@watch_option
@click.pass_context
def list_placements(ctx: click.Context, output: str, watch: bool) -> None:
    """List placements and the clusters they chose."""
    with client(ctx) as hub:
        show_list(hub.placements, COLUMNS, output, watch=watch, empty="No placements.")


@placements.command("show")
@click.argument("name")
@answer_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show what a placement selected, and where it is.

    NAME is that of a ClusterResourcePlacement, or namespace/name of a ResourcePlacement.
    """
    with client(ctx) as hub:
        show_one(hub.placement(name), output, _as_text)


def _as_text(placement: Json) -> str:
    name = "/".join(p for p in (placement["namespace"], placement["name"]) if p)
    lines = [f"{placement['kind']} {name}"]
    for condition in placement["conditions"]:
        lines += _condition(condition, "  ")
    selected = [_resource(r) for r in placement["selectedResources"]]
    lines += ["", *wrapped("selected: " + (", ".join(selected) or "nothing"), "  ")]
    for status in placement["placementStatuses"]:
        lines += ["", f"  {status.get('clusterName') or 'not placed'}"]
        for condition in status.get("conditions") or []:
            lines += _condition(condition, "    ")
        for failed in status.get("failedPlacements") or []:
            lines += [f"    failed: {_resource(failed)}"]
            lines += _condition(failed.get("condition") or {}, "      ")
        for drifted in status.get("driftedPlacements") or []:
            lines += _drifted(drifted)
    return "\n".join(lines)


def _condition(condition: Json, indent: str) -> list[str]:
    if not condition:
        return []
    told = f"{condition['type']}={condition['status']}  {condition.get('reason', '')}"
    message = condition.get("message")
    return wrapped(f"{told}: {message}" if message else told, indent)


def _drifted(drifted: Json) -> list[str]:
    lines = [f"    drifted: {_resource(drifted)}"]
    for each in drifted.get("observedDrifts") or []:
        told = f"{each['path']}: hub {each.get('valueInHub', '-')}"
        lines += wrapped(f"{told}, member {each.get('valueInMember', '-')}", "      ")
    return lines


def _resource(resource: Json) -> str:
    name = "/".join(p for p in (resource.get("namespace"), resource["name"]) if p)
    return f"{resource['kind']} {name}"

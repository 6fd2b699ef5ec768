"""Manifests as clusters would get them, as YAML documents with their cluster and origin above each."""

from collections.abc import Iterator, Sequence

from roadstead.cli.visible import visible_yaml
from roadstead.models.plan import PlannedFault, PlannedManifest


def manifests_of(
    manifests: Sequence[PlannedManifest], faults: Sequence[PlannedFault], left: int
) -> Iterator[str]:
    """Lines: failures as comments, then one document for each object."""
    for fault in faults:
        yield f"# {fault.cluster or 'no cluster'}: {fault.message}"
    for each in manifests:
        yield "---"
        yield f"# {_about(each)}"
        yield from visible_yaml(each.manifest).rstrip("\n").split("\n")
    if left:
        yield "---"
        yield f"# {left} more: limit the output to one cluster, or to fewer objects"


def _about(one: PlannedManifest) -> str:
    name = "/".join(part for part in (one.namespace, one.name) if part)
    told = f"{one.cluster}: {one.kind} {name}"
    if one.envelope is not None:
        lies = one.envelope
        where = "/".join(part for part in (lies.namespace, lies.name) if part)
        told += f" in {lies.type} {where}"
    if one.overrides:
        told += f", by {', '.join(one.overrides)}"
    return told

"""The exact manifests that a cluster would get of a placement: overridden, out of their envelopes. Read only.

Without what Roadstead itself writes on them (docs/reference/labels.md); of Secrets marks stand for values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from hub.domain.placement.status import envelope_named
from hub.domain.rollout.overriding import OverrideFailed
from hub.services.context.secrecy import redacted
from hub.services.placements import override
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.placements.override import Overrides
from hub.services.placements.selecting import Selection, read_rules, select
from hub.services.placements.snapshots import objects_of
from hub.services.works import compose
from hub.store import clusters, objects, placements
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import placement_kind
from shared.reject_codes import RejectCode

MOST: Final = 500  # manifests of one answer
MOST_BYTES: Final = 2 * 1024 * 1024  # of them together


@dataclass(slots=True)
class Rendered:
    """The manifests rendered so far. `left`: manifests for which there was no room."""

    manifests: list[Json] = field(default_factory=list)
    faults: list[Json] = field(default_factory=list)  # of a cluster; "" of all: what is not given
    left: int = 0
    size: int = 0

    def add(self, told: Json) -> None:
        size = len(orjson.dumps(told))
        if len(self.manifests) >= MOST or self.size + size > MOST_BYTES:
            self.left += 1
            return
        self.size += size
        self.manifests.append(told)

    def told(self) -> Json:
        """As `hub.api.models.plan` has it."""
        return {"manifests": self.manifests, "faults": self.faults, "manifestsLeft": self.left}


def render(
    tx: Transaction,
    selection: Selection,
    overrides: Overrides,
    labels: Mapping[str, Mapping[str, str]],
    into: Rendered,
) -> Rendered:
    """The objects of each cluster from the selection, Jobs aside. `labels`: of the clusters meant."""
    into.faults += [
        _fault("", f"{each.resource.kind} {each.resource.name}: {each.message}")
        for each in selection.left_out
    ]
    for cluster, marks in labels.items():
        try:
            made = list(_of_cluster(tx, selection, overrides, cluster, marks))
        except OverrideFailed as failed:
            into.faults.append(_fault(cluster, f"it gets nothing new: {failed}"))
            continue
        for each in made:
            into.add(each)
    return into


def render_placement(tx: Transaction, namespace: str, name: str, cluster: str) -> Json:
    """The objects that an existing placement would give a cluster now. Raises Rejected: NotFound.

    {"kind", "namespace", "name", "cluster", "selected", "message", "manifests", "faults", "manifestsLeft"}.
    """
    kind = placement_kind(namespace)
    row = objects.find(tx, PLACEMENT, kind, namespace, name)
    if row is None or row.deleted_at is not None:
        place = "/".join(part for part in (namespace, name) if part)
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {kind} {place[:320]}")
    member = clusters.get(tx, cluster)
    if member is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no cluster {cluster[:64]}", "cluster")
    selection = select(tx, read_rules(kind, namespace, row.spec or {}))
    bound = {b.cluster: b for b in placements.bindings_of(tx, row.uid)}.get(cluster)
    selected = bound is not None and bound.selected and bound.policy_snapshot != FOR_A_JOB
    text = bound.message if bound is not None else "it was not picked: this is what it would get"
    overrides = Overrides(tx, row, selection, placements.override_uids(tx))
    found = render(tx, selection, overrides, {cluster: member.labels}, Rendered())
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "cluster": cluster,
        "selected": selected,
        "message": text,
    } | found.told()


def _of_cluster(
    tx: Transaction,
    selection: Selection,
    overrides: Overrides,
    cluster: str,
    labels: Mapping[str, str],
) -> Iterable[Json]:
    for one in objects_of(selection):
        made: override.Made = overrides.made(one.uid, cluster, labels)
        if made.manifest is None:
            continue
        yield {
            "cluster": cluster,
            "apiVersion": one.api_version,
            "kind": one.kind,
            "namespace": one.namespace,
            "name": one.name,
            "envelope": envelope(selection.inside.get(one.uid, "")),
            "overrides": made.overrides,
            "manifest": redacted(tx, compose.as_given(made.manifest)),
        }


def envelope(named: str) -> Json | None:
    """{"type", "namespace", "name"} of an envelope as works name it; None for ""."""
    return {"namespace": ""} | envelope_named(named) if named else None


def _fault(cluster: str, message: str) -> Json:
    return {"cluster": cluster, "message": message}

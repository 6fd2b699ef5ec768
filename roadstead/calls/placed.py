"""Placements' records: revisions and rollback, decisions for clusters, desired objects of clusters."""

from roadstead.calls.bodies import body_of
from roadstead.models.placed import ClusterWork, PlacementBinding, Revision, RolledBack
from roadstead.paths import either
from roadstead.steps import Flow, Request, Steps, items, one, pages


def revisions(placement: str, *, limit: int = 20) -> Steps[list[Revision]]:
    """Revisions of a placement's objects, newest first, at most 100: changes, and the clusters of each.

    `placement`: `name` of a ClusterResourcePlacement, `namespace/name` of a ResourcePlacement. Raises
    NotFound.
    """
    ask = Request("GET", "/v1/revisions", {"placement": placement, "limit": str(limit)})
    return items(ask, Revision)


def roll_back(placement: str, to: int, *, dry_run: bool = False) -> Steps[RolledBack]:
    """Roll a placement back to revision `to`, until the selected objects change; or only preview it.

    Raises NotFound for a revision that is not kept, Rejected (InvalidState) if staged runs drive the
    placement.
    """
    return _rollback(placement, {"to": to, "dryRun": dry_run})


def release_rollback(placement: str, *, dry_run: bool = False) -> Steps[RolledBack]:
    """Roll the newest revision of a rolled-back placement out again."""
    return _rollback(placement, {"release": True, "dryRun": dry_run})


def _rollback(placement: str, asked: dict[str, object]) -> Steps[RolledBack]:
    path = f"/v1/placements/{either(placement)}/rollback"
    return one(Request("POST", path, body=body_of(asked)), RolledBack)


def bindings(*, placement: str = "", cluster: str = "") -> Flow[PlacementBinding]:
    """Decisions of placements per cluster, with scores, reasons and revision."""
    return pages("/v1/bindings", {"placement": placement, "cluster": cluster}, PlacementBinding)


def works(*, cluster: str = "", placement: str = "", failed: bool = False) -> Flow[ClusterWork]:
    """Desired objects and Jobs of clusters; `failed`: only rejected, missing or unavailable ones."""
    filters = {"cluster": cluster, "placement": placement, "failed": "true" if failed else ""}
    return pages("/v1/works", filters, ClusterWork)

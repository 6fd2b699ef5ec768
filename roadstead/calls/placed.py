"""Placements' records: revisions and going back to one, decisions for clusters, what clusters are given."""

from roadstead.calls.bodies import body_of
from roadstead.models.placed import ClusterWork, PlacementBinding, Revision, RolledBack
from roadstead.paths import either
from roadstead.steps import Flow, Request, Steps, items, one, pages


def revisions(placement: str, *, limit: int = 20) -> Steps[list[Revision]]:
    """Revisions of what a placement selects, newest first, at most 100: what changed, who has which.

    `placement`: `name` of a ClusterResourcePlacement, `namespace/name` of a ResourcePlacement. Raises
    NotFound.
    """
    ask = Request("GET", "/v1/revisions", {"placement": placement, "limit": str(limit)})
    return items(ask, Revision)


def roll_back(placement: str, to: int, *, dry_run: bool = False) -> Steps[RolledBack]:
    """Give a placement's clusters revision `to`, until what is selected changes; or only show it.

    Raises NotFound for what is not kept, Rejected (InvalidState) where staged runs drive the placement.
    """
    return _rollback(placement, {"to": to, "dryRun": dry_run})


def release_rollback(placement: str, *, dry_run: bool = False) -> Steps[RolledBack]:
    """Let the newest revision of a placement that was rolled back roll out again."""
    return _rollback(placement, {"release": True, "dryRun": dry_run})


def _rollback(placement: str, asked: dict[str, object]) -> Steps[RolledBack]:
    path = f"/v1/placements/{either(placement)}/rollback"
    return one(Request("POST", path, body=body_of(asked)), RolledBack)


def bindings(*, placement: str = "", cluster: str = "") -> Flow[PlacementBinding]:
    """Decisions of placements for clusters, with scores, reasons, and the revision that each has."""
    return pages("/v1/bindings", {"placement": placement, "cluster": cluster}, PlacementBinding)


def works(*, cluster: str = "", placement: str = "", failed: bool = False) -> Flow[ClusterWork]:
    """What clusters are given, Jobs among it; `failed`: what is refused, missing or not available."""
    filters = {"cluster": cluster, "placement": placement, "failed": "true" if failed else ""}
    return pages("/v1/works", filters, ClusterWork)

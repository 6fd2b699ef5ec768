"""What no object alone can tell of cohorts: whether their parents lead back to themselves."""

from hub.services.routes import KUEUE
from hub.store import objects
from hub.store.unit import Unit
from shared.errors import Rejected


def refuse_cycle(unit: Unit, name: str, parent: str) -> None:
    """Raises Rejected (CohortCycle, with the path) if this parent would close a cycle."""
    if not parent:
        return
    parents = {
        row["name"]: str((row["spec"] or {}).get("parentName") or "")
        for row in objects.list_kind(unit, KUEUE, "Cohort")
        if row["deleted_at"] is None
    }
    path, above = [name], parent
    while above and above not in path:
        path.append(above)
        above = parents.get(above, "")
    if above == name:
        detail = f"cohorts would form a cycle: {' -> '.join([*path, name])}"
        raise Rejected("CohortCycle", detail, "spec.parentName")

"""The bridge's own write of `spec.active` is no command of a person, whichever of its two writes fails."""

from typing import Any

import pytest

from hub.bridge.workload_words import commanded
from hub.domain.workloads.states import State
from shared import labels
from tests.store.build import a_workload

HELD = a_workload("one", state=State.HELD, reason="HeldByUser")
WAITS = a_workload("one", state=State.PENDING)


def a_live(*, active: bool, by: str, generation: int = 3, observed: int = 2) -> dict[str, Any]:
    """A Workload of which `by` set `spec.active` last, and whose conditions are of `observed`."""
    fields: dict[str, Any] = {"f:spec": {"f:active": {}}}
    written = {"manager": by, "operation": "Update", "fieldsV1": fields}
    condition = {"type": "QuotaReserved", "status": "False", "observedGeneration": observed}
    return {
        "metadata": {"generation": generation, "managedFields": [written]},
        "spec": {"active": active},
        "status": {"conditions": [condition]},
    }


@pytest.mark.parametrize(("row", "active"), [(HELD, True), (WAITS, False)])
def test_what_the_bridge_wrote_itself_is_no_command(row: Any, active: bool):
    """Its status write failed, and the row has changed since: the generation alone proves nothing."""
    assert commanded(a_live(active=active, by=labels.BRIDGE_FIELD_MANAGER), row) is None


@pytest.mark.parametrize(("row", "active"), [(HELD, True), (WAITS, False)])
def test_what_somebody_else_wrote_is_a_command(row: Any, active: bool):
    """It differs from the row, and is newer than the bridge's conditions."""
    assert commanded(a_live(active=active, by="kubectl-edit"), row) is active
    assert commanded(a_live(active=active, by="kubectl-edit", observed=3), row) is None

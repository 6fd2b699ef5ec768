"""What is handed over from who keeps it with kubectl to REST, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.context.settings import BridgeSettings
from hub.services.objects.hand_over import REST, hand_over
from hub.store import objects, workloads
from shared.errors import Rejected
from shared.groups import KUEUE
from tests.store.build import START, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
QUEUE: Any = {"api_group": KUEUE, "kind": "ClusterQueue", "namespace": "", "spec": {}}
GOING: Any = {"state": State.WITHDRAWING, "withdraw_to": WithdrawTo.DELETED, "cluster": "north"}


@pytest.mark.parametrize(
    "place", [(KUEUE, "ClusterQueue", "", "q"), ("batch", "Job", "team-a", "j")]
)
async def test_what_is_being_deleted_stays_with_who_deletes_it(tmp_path: Path, place: Any):
    """Handed over it would be kept by nobody: its object goes, and REST was not asked to delete it."""
    async with opened(tmp_path) as db:
        await db.write(
            call(objects.add, an_object("q", origin=Origin.HUB_CLUSTER, deleted_at=START, **QUEUE))
        )
        await db.write(call(workloads.add, [a_workload("j", origin=Origin.HUB_CLUSTER, **GOING)]))
        with pytest.raises(Rejected) as no:
            await db.write(call(hand_over, place, REST, "ann", BridgeSettings()))
        assert no.value.code.name == "BEING_DELETED"

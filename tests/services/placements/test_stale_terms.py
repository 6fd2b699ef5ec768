"""A hub that leads no more carries out nothing of placements, members that leave, runs and lost clusters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hub.services.context import leadership
from hub.services.objects import leave, left_behind
from hub.services.placements.staged import approvals, index
from hub.services.placements.status import reconcile_with_status
from hub.services.works import cluster_loss
from hub.store.errors import StaleTerm
from hub.store.transaction import Transaction
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda tx, term: reconcile_with_status(tx, "u", {}, term), id="placements"),
        pytest.param(leave.finish, id="members that leave"),
        pytest.param(left_behind.take_back_orphans, id="orphans"),
        pytest.param(lambda tx, term: index.tell_orphans(tx, ["u"], term), id="runs"),
        pytest.param(lambda tx, term: approvals.hear_approval(tx, term, "u", {}), id="approvals"),
        pytest.param(lambda tx, term: cluster_loss.move_lost(tx, {}, term), id="lost jobs"),
    ],
)
async def test_who_leads_no_more_is_refused(
    tmp_path: Path, act: Callable[[Transaction, int], object]
):
    """Though nothing was to be done: the term is looked at first, in the transaction that would write."""
    async with running_hub(tmp_path) as hub:
        before = await hub.write(leadership.seize, "one")
        now = await hub.write(leadership.seize, "other")
        with pytest.raises(StaleTerm):
            await hub.write(act, before)
        await hub.write(act, now)

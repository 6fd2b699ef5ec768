"""What a plan reserves, as it stands on the row afterwards: states of its checks, and whom it waits for."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.plan import Reason
from hub.domain.workloads.admission_checks import MULTIKUEUE, Check
from hub.domain.workloads.states import State
from hub.services.index.check_catalog import Gate
from hub.services.scheduling.reserve import reserve, with_states
from hub.store import workloads
from tests.services.scheduling.reservations import RETRIED, fill, row
from tests.store.build import START, a_workload, call, opened

pytestmark = pytest.mark.anyio
GATE = Gate(known={"budget": Check("budget", "example.com/b"), "far": Check("far", MULTIKUEUE)})
AT = START.isoformat()
ADMISSION: Any = {"podSets": [{"name": "main"}]}


def move(uid: str, **columns: Any) -> Any:
    return {"uid": uid, "epoch": 0, "cluster_queue": "q", "admission": ADMISSION, **columns}


@pytest.mark.parametrize(("cluster", "where"), [("north", "cluster north tentative; "), ("", "")])
async def test_what_is_reserved_asks_all_of_its_checks(tmp_path: Path, cluster: str, where: str):
    """The hub's own is Ready at once; how often another said Retry before is kept; the rest waits."""
    async with opened(tmp_path) as db:
        before = a_workload("one", checks=RETRIED)
        await fill(db, before, a_workload("two"))
        required = {"one": ("budget", "far", "new")}
        rows = [move("one", cluster=cluster)]
        assert await db.write(call(reserve, rows, required, GATE)) == ["one"]
        after = await row(db)
        pending = {"state": "Pending", "message": "", "at": AT}
        assert after.checks is not None
        assert after.checks["far"]["state"] == "Ready"
        assert after == before._replace(
            state=State.RESERVED,
            cluster=cluster,
            cluster_queue="q",
            admission=ADMISSION,
            reserved_at=START,
            reason=str(Reason.QUOTA_RESERVED),
            message=f"{where}waits for admission checks: budget (example.com/b), new",
            checks={
                "budget": {**pending, "retryCount": 1},
                "far": after.checks["far"],
                "new": pending,
            },
        )
        assert await row(db, "two") == a_workload("two")


async def test_only_what_must_pass_checks_gets_states(tmp_path: Path):
    """The others of the plan stay as they are, and in their order."""
    async with opened(tmp_path) as db:
        await fill(db, a_workload("one"), a_workload("two"))
        rows = [move("two"), move("one")]
        found = await db.read(call(with_states, rows, {"one": ("new",)}, GATE))
        states = {"new": {"state": "Pending", "message": "", "at": AT}}
        assert found == [move("two"), move("one", checks=states)]
        assert await db.read(call(with_states, rows, {}, GATE)) == rows
        assert await db.read(call(workloads.get, "one")) == a_workload("one")

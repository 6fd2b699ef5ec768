"""`python -m tests.chaos.owned_member …`: a simulated member that keeps who created and wrote what.

The ledger is that of the simulation's level `owners`. It tells writers apart by their tokens, and answers at
`/_owners`: what it found, what is left behind, who created an object, which values may leave.
"""

import os
import time
from typing import Any

import orjson

from shared.kubesim import __main__ as simulator
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.cluster import SimCluster
from shared.kubesim.requests.call import Call, Reply, json_reply
from tests.simulation.owners.acts import PLACED, SPACES
from tests.simulation.owners.ledger import HubSide, Ledger
from tests.simulation.owners.users import a_class, declared

TAKE_OVERS = "ROADSTEAD_TEST_TAKE_OVERS"  # the rules that the schedule's placements set
VERSIONS = 3  # of each declared object


class OwnedCluster(SimCluster):
    """A simulated cluster with a ledger."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(name, **given)
        hub = self._hub_side = HubSide()
        hub.modes = set(filter(None, os.environ.get(TAKE_OVERS, "").split(",")))
        manifests = [
            declared(s, *each, n) for s in SPACES for each in PLACED for n in range(VERSIONS)
        ]
        for manifest in (*manifests, a_class()):
            hub.knows(manifest)
        self.ledger = Ledger(name, "", time.monotonic, hub)
        self.ledger.follow(self.store, writer)
        self.server.routes.append(self._answer)

    async def _answer(self, call: Call) -> Reply | None:
        """`hub`: the hub's id. `uid`: of an object. `value`: a foreign one that was seen outside."""
        if call.path != "/_owners":
            return None
        self.ledger.hub_id = call.arg("hub") or self.ledger.hub_id
        entry = self.ledger.entries.get(call.arg("uid"))
        told = {
            "found": [str(each) for each in self._hub_side.failed],
            "left": self.ledger.left_behind(),
            "creator": entry.creator if entry is not None else "",
            "mayLeave": self._hub_side.may_leave(call.arg("value")),
            "known": call.arg("value") in self._hub_side.canaries,
        }
        return json_reply(orjson.loads(orjson.dumps(told)))


def main() -> None:
    """Serve as `shared.kubesim` does."""
    vars(simulator)["SimCluster"] = OwnedCluster
    simulator.main()


if __name__ == "__main__":
    main()

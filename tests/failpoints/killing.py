"""A fleet in which one part is killed at a named point (`shared/failpoints.py`) while a story is told.

    arm the part ──► story: submit, cancel, … ──► it dies there ──► started again ──► everything ends

Whoever asks the hub asks again until it answers, as a person would; what has died is started again
meanwhile, unarmed. A point that is not reached fails.
"""

import contextlib
import itertools
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from roadstead.cli import ports
from roadstead.errors import NotFound, Rejected, RoadsteadError
from tests import databases
from tests.chaos import manifests
from tests.chaos.fleet import Fleet, running
from tests.chaos.history import Ending, History, Json, Ledger
from tests.chaos.judge import judge
from tests.chaos.member import Member
from tests.chaos.parts import Hubs
from tests.chaos.recorder import Recorder
from tests.chaos.sighted import TERMINAL, Violation
from tests.e2e import running as waits

MEMBERS = ("m1", "m2")
LEASE_S = 3.0
ENDS_WITHIN_S = 90.0
# A member that says nothing for 3 s gets no more work; one that says nothing for 4 s is unreachable.
IMPATIENT = {
    "ROADSTEAD_SCHEDULING_SUSPECT_AFTER_S": "3",
    "ROADSTEAD_SCHEDULING_UNREACHABLE_AFTER_S": "4",
    "ROADSTEAD_RETENTION_EVERY_S": "1",
}
T = TypeVar("T")


@dataclass
class Killing:
    """The fleet, its recorder, and what a patient person does with them."""

    fleet: Fleet
    recorder: Recorder
    acknowledged: dict[str, str] = field(default_factory=dict)  # uid → name
    deleted: set[str] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # --- killing ---------------------------------------------------------------------------------

    def arm(self, part: str, point: str) -> None:
        """Start a part anew, to be killed at `point`, or `point:N` when it comes there for the Nth time."""
        self.fleet.arm(part, point)

    def until_killed(self, part: str) -> None:
        """Wait until the armed part has died as by kill -9, and has been started again. Asserts both."""
        ends = self.fleet.parts[part].ends
        self.until(lambda: ends, f"{part} comes to {self.fleet.parts[part].armed}")
        assert ends == [-signal.SIGKILL], f"{part} ended by itself: {ends}"

    def until(self, condition: Callable[[], T], what: str, within_s: float = ENDS_WITHIN_S) -> T:
        """What `condition` gives once that is true; whatever dies meanwhile is started again."""

        def looked() -> T | None:
            self.fleet.tick()
            with contextlib.suppress(RoadsteadError, OSError):
                return condition()
            return None

        found = waits.until(looked, within_s, what)
        assert found is not None
        return found

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, method: str, path: str, **given: Any) -> Json:
        """Ask the hub until it answers. Raises Rejected."""
        refusals: list[Rejected] = []

        def answered() -> tuple[Json] | None:
            try:
                return (self.fleet.request(method, path, **given),)
            except Rejected as refusal:
                refusals.append(refusal)
                return ({},)

        (answer,) = self.until(answered, f"{method} {path} is answered")
        if refusals:
            raise refusals[0]
        return answer

    def apply(self, *documents: Json) -> None:
        """Declare queues and the like."""
        self.ask("POST", "/v1/apply", body=json.dumps(documents).encode())

    def submit(self, **given: Any) -> str:
        """Submit a job of one pod (`run_s`, `tight`, `priority`), or `more` of its manifest; its uid."""
        name = f"job-{next(self._numbers):03d}"
        more = given.pop("more", {})
        body = manifests.job({"name": name, "indexes": 1, "run_s": 0.5, **given})
        body["metadata"]["labels"] |= more.get("labels", {})
        body["spec"] |= more.get("spec", {})
        headers = {"Idempotency-Key": name}
        made = self.ask("POST", "/v1/jobs", body=json.dumps(body).encode(), headers=headers)
        self.acknowledged[made["uid"]] = name
        return str(made["uid"])

    def job(self, uid: str) -> Json:
        return self.ask("GET", f"/v1/jobs/{uid}")

    def until_state(self, uid: str, *states: str) -> None:
        self.until(lambda: self.job(uid)["state"] in states, f"{uid} is {' or '.join(states)}")

    def only(self, member: str) -> None:
        """Cordon all members but one; none with ""."""
        for each in MEMBERS:
            verb = "uncordon" if member in ("", each) else "cordon"
            self.ask("POST", f"/v1/clusters/{each}/{verb}")

    def member(self, name: str) -> Member:
        return Member(name, self.fleet.kubeconfig(name))

    # --- the end ---------------------------------------------------------------------------------

    def violations(self) -> list[Violation]:
        """What the history proves to be wrong, once all jobs have ended and nothing is left of them."""
        self.until(
            lambda: all(j["state"] in TERMINAL for j in self.fleet.jobs()), "all have ended"
        )
        self.until(self._is_quiet, "members hold nothing that has not ended")
        self.recorder.catch_up(self.member(name) for name in MEMBERS)
        ledger = Ledger(acknowledged=dict(self.acknowledged), deleted=set(self.deleted))
        return judge(History(self.recorder.sightings(), ledger, Ending(self.fleet.jobs())))

    def clear(self) -> None:
        """Delete all jobs: the next story begins with members that hold nothing."""
        for uid in self.acknowledged:
            with contextlib.suppress(NotFound):
                self.ask("DELETE", f"/v1/jobs/{uid}")
        self.until(lambda: not self.recorder.live(), "members hold nothing")
        self.deleted |= self.acknowledged.keys()

    def _is_quiet(self) -> bool:
        return not [each for each in self.recorder.live() if each.deleting or not each.result]


@contextlib.contextmanager
def killing(folder: Path, store: str, *, cluster: bool = False, **env: str) -> Iterator[Killing]:
    """Two members, one hub on a database of this kind, with a hub cluster if asked for."""
    with contextlib.ExitStack() as stack:
        server = None
        if store == databases.POSTGRES:
            server = stack.enter_context(databases.own_server(port=ports.free(1)[0]))
        hubs = Hubs(server=server, cluster=cluster)
        pools = {name: manifests.pools() for name in MEMBERS}
        fleet = Fleet(folder, pools, IMPATIENT | env, LEASE_S, hubs=hubs)
        stack.enter_context(running(fleet))
        fleet.request("POST", "/v1/apply", body=manifests.queues(1))
        configs = {name: fleet.kubeconfig(name) for name in MEMBERS}
        recorder = stack.enter_context(Recorder(configs, manifests.NAMESPACE))
        killed = Killing(fleet, recorder)
        for name in MEMBERS:
            killed.member(name).make_namespace(manifests.NAMESPACE)
        yield killed

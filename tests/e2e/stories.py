"""A fleet whose links can be broken, with a recorder beside it: for stories of one fault each."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import manifests
from tests.chaos.fleet import Fleet, running
from tests.chaos.history import Ending, History, Json, Ledger, Sighting
from tests.chaos.judge import judge
from tests.chaos.member import Member
from tests.chaos.recorder import Recorder
from tests.chaos.sighted import TERMINAL, Violation
from tests.e2e.running import until

LEASE_S = 4.0


@dataclass
class Story:
    """The fleet, what its members showed so far, and what a person does."""

    fleet: Fleet
    recorder: Recorder

    def submit(self, name: str, **given) -> str:
        """Submit a job of one pod: `run_s`, `tight`, `priority`. Its uid."""
        body = manifests.job({"name": name, "indexes": 1, "run_s": 1.0, **given})
        return self.fleet.request("POST", "/v1/jobs", body=json.dumps(body).encode())["uid"]

    def job(self, uid: str) -> Json:
        return self.fleet.request("GET", f"/v1/jobs/{uid}")

    def ask(self, verb: str, uid: str) -> None:
        """hold, release or cancel."""
        self.fleet.request("POST", f"/v1/jobs/{uid}/{verb}")

    def only(self, member: str) -> None:
        """Cordon all members but one."""
        for each in self.fleet.members:
            verb = "uncordon" if each == member else "cordon"
            self.fleet.request("POST", f"/v1/clusters/{each}/{verb}")

    def until_state(self, uid: str, *states: str, within_s: float = 30) -> Json:
        def there() -> Json | None:
            job = self.job(uid)
            return job if job["state"] in states else None

        return until(there, within_s, f"{uid} is {' or '.join(states)}")

    def copies(self, uid: str) -> list[Sighting]:
        """The Job objects of a job that members have now, as last seen."""
        return [each for each in self.recorder.live() if each.owner == uid]

    def delete_by_hand(self, seen: Sighting) -> None:
        """Delete a Job in its member; returns when the deletion has been asked for there."""
        member = Member(seen.member, self.fleet.kubeconfig(seen.member))
        member.delete_job(manifests.NAMESPACE, seen.name, seen.uid)
        until(lambda: self._deleting(seen.uid), 20, f"{seen.name} is being deleted")

    def _deleting(self, uid: str) -> bool:
        of_it = (each for each in self.recorder.sightings() if each.uid == uid)
        return any(each.deleting or each.change == "DELETED" for each in of_it)

    def violations(self) -> list[Violation]:
        """What the history so far proves to be wrong, once all jobs have ended."""
        until(self._all_ended, 60, "all jobs have ended")
        self.recorder.catch_up(Member(m, self.fleet.kubeconfig(m)) for m in self.fleet.members)
        jobs = self.fleet.jobs()
        ledger = Ledger(acknowledged={job["uid"]: job["name"] for job in jobs})
        return judge(History(self.recorder.sightings(), ledger, Ending(jobs)))

    def _all_ended(self) -> bool:
        return all(job["state"] in TERMINAL for job in self.fleet.jobs())


@contextlib.contextmanager
def told(folder: Path, members: int) -> Iterator[Story]:
    """A fleet of so many equal members, their agents settled, queue `tight` with one core."""
    names = [f"m{i}" for i in range(1, members + 1)]
    with running(Fleet(folder, {name: manifests.pools() for name in names}, {}, LEASE_S)) as fleet:
        fleet.request("POST", "/v1/apply", body=manifests.queues(1))
        configs = {name: fleet.kubeconfig(name) for name in names}
        with Recorder(configs, manifests.NAMESPACE) as recorder:
            story = Story(fleet, recorder)
            _settle(story, names)
            yield story


def _settle(story: Story, names: list[str]) -> None:
    """Every agent has run a job and has confirmed that one is gone: its lease has settled."""
    for name in names:
        story.only(name)
        uid = story.submit(f"first-{name}", run_s=600)
        story.until_state(uid, "Running")
        story.ask("cancel", uid)
        story.until_state(uid, "Cancelled", within_s=60)

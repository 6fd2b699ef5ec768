"""Histories that tests of the judge build: Jobs, their pods, and how the hub told of them."""

from tests.chaos.history import Ending, History, Json, Ledger, Sighting
from tests.chaos.judge import judge

A, B = "job-a", "job-b"


class Story:
    """Builds a history: Jobs `copy`, their pods, and how the hub told of them."""

    def __init__(self) -> None:
        self.sightings: list[Sighting] = []
        self.ledger = Ledger(acknowledged={A: "a"})
        self.jobs = [a_job(A, "Succeeded", "m1", 1)]
        self.present: set[str] = set()
        self.charged: dict[str, float] = {}
        self.quota = 0.0
        self.gaps: list[str] = []
        self.events: list[Json] = []
        self.maps: dict[str, Json] = {}

    def copy(
        self, member, uid, *, epoch=1, made=10.0, complete=0.0, owner=A, gone=False, deleting=0.0
    ):
        """A Job object; `complete`: when it completed; `gone`: seen DELETED at its end."""
        result = "Complete" if complete else ""
        base = {"member": member, "kind": "Job", "uid": uid, "name": "a", "owner": owner}
        seen = {**base, "epoch": epoch, "created": made, "at": made}
        self.sightings.append(Sighting(change="ADDED", **seen))
        if complete:
            ended = {**seen, "at": complete, "result": result, "ended": complete}
            self.sightings.append(Sighting(change="MODIFIED", **ended))
        if gone:
            last = {**seen, "result": result, "deleting": deleting}
            self.sightings.append(Sighting(change="DELETED", **last))
        else:
            self.present.add(f"{member}/{uid}")
        return self

    def pod(self, member, uid, of, started, ended=0.0, *, deleting=0.0, cpu=1.0):
        """A pod of the Job object `of` that ran from `started` to `ended` (0: still runs)."""
        seen = {"member": member, "kind": "Pod", "uid": uid, "name": uid, "owner": of}
        stamps = {"started": started, "ended": ended, "deleting": deleting, "cpu": cpu}
        self.sightings.append(Sighting(at=started, change="MODIFIED", **seen, **stamps))
        return self

    def told(self, state, *, reason="", cluster="m1", epoch=1):
        """How the hub tells of job a in the end."""
        self.jobs = [{**a_job(A, state, cluster, epoch), "reason": reason}]
        return self

    def invariants(self):
        """The numbers of the broken rules."""
        return sorted({each.invariant for each in judge(self.history())})

    def history(self):
        ending = Ending(
            self.jobs, self.charged, self.present, self.maps, settled=True, waited_s=30, at=200
        )
        return History(self.sightings, self.ledger, ending, self.gaps, self.quota, self.events)


def a_job(uid, state, cluster, epoch):
    name = {A: "a", B: "a"}.get(uid, uid)
    return {
        "uid": uid, "name": name, "state": state, "reason": "", "cluster": cluster, "epoch": epoch,
    }  # fmt: skip


def healthy():
    """One job that ran once."""
    return Story().copy("m1", "u1", complete=20).pod("m1", "p1", "u1", 11, 19)

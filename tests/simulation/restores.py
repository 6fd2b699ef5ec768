"""Restores: the hub's store goes back to an older copy of itself, which an administrator then accepts.

The whole hub (level 2), whatever else befalls it. How the hub finds out is not played: it is told when
it starts. A person releases, holds, deactivates and forgets without a look into any member: the hub alone
refuses what would run twice.
"""

import datetime as dt
import random
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hub.services.context import identity, timeline
from hub.services.jobs import adopt
from hub.services.members.sync import AgentSync
from hub.services.works import restored
from hub.store import leftovers
from hub.store.transaction import Transaction
from shared.errors import Rejected
from tests.simulation import guards
from tests.simulation.checks import Checks, Object, uid_and_epoch
from tests.simulation.faults import Fault, Scenario
from tests.simulation.hub_cluster import HubCluster
from tests.simulation.services import Whole, WholeRun
from tests.simulation.world import Violation

_LONGEST_LOST_S = 60.0
_FAULTS_S = 60.0
_BLIND_S = 120.0  # after the acceptance, most of it early
_LAST_S = 300.0
_TOLD_S = 10.0  # within which an agent tells of an end, where everything works
_HOURS_S = 3 * 3600.0  # the longest silence of a member, in some of the seeds
_CLOCK_S = 2 * 3600.0  # by how much clocks step
_WAITING = frozenset({"Held", "Deactivated"})


class LostTime(Checks):
    """What the store can not know after a restore is not held against it; what really runs is."""

    def __init__(self) -> None:
        super().__init__()
        self.went_back = False
        self.accepted = False  # before that a job may be placed, but nobody is told of it
        self.followed: set[str] = set()  # jobs that went on in a later epoch than the store's

    def moved(self, row: Object, name: str, before: str) -> None:
        if not self.went_back:
            super().moved(row, name, before)
        elif self.accepted and name == "place" and row["state"] not in _WAITING:
            # Of what waits, only the epoch has leapt.
            self._not_beside_itself(row)
            self._placed(row)
        elif row["reason"] == "DeletedInMember":
            self._not_made_up(row)

    def goes_on(self, row: Object) -> None:
        """R-04: the later epoch is in the member of the job, and no other epoch of it runs anywhere."""
        uid, epoch = row["uid"], row["epoch"]
        if not self.went_back:
            super().goes_on(row)
        if (uid, epoch) not in self.placed:
            raise Violation("R-15", f"{uid} goes on in epoch {epoch}, which no hub gave")
        here = [uid_and_epoch(job) for job in self.members[row["cluster"]].jobs.values()]
        others = set(self.running.get(uid, {}).values()) - {row["cluster"]}
        if others:
            raise Violation("R-04", f"{uid} goes on in {row['cluster']}, and runs in {others}")
        if (uid, epoch) in here:
            self.followed.add(uid)

    def come_to_an_end(self, told: str) -> None:
        """R-07, R-12: no end of a Job is lost to its job, and what is taken back goes.

        `told`: an instant; the hub has been told of ends until then.
        """
        for uid, row in self.store.workloads.items():
            if row["state"] == "Withdrawing":
                raise Violation("R-12", f"{uid} is still being taken back from {row['cluster']}")
            if row["state"] not in {"Offered", "Applied", "Running", "Unknown"}:
                continue
            for job in self.members[row["cluster"]].jobs.values():
                conditions = job["status"].get("conditions") or ()
                ended = {c["type"] for c in conditions if c["lastTransitionTime"] <= told}
                if uid_and_epoch(job)[0] == uid and ended & {"Complete", "Failed"}:
                    text = f"its Job in {row['cluster']} has ended, and {uid} is {row['state']}"
                    raise Violation("R-07", text)

    def looked_over(self) -> None:
        if not self.went_back:
            super().looked_over()

    def dropped(self, cluster: str, job: Object) -> None:
        if not self.went_back:
            super().dropped(cluster, job)

    def pod_runs(self, cluster: str, pod: Object) -> None:
        """R-04: a job does not start again while a member still has the Job in which it completed."""
        uid, epoch = uid_and_epoch(pod)
        if self._may_run_again(uid, epoch):
            del self.completed[uid]
        elif self.went_back and uid in self.completed:
            raise Violation("R-04", f"{uid} completed in {self.completed[uid]} and begins again")
        super().pod_runs(cluster, pod)

    def _placed(self, row: Object) -> None:
        if self._may_run_again(row["uid"], row["epoch"]):
            del self.completed[row["uid"]]
        super()._placed(row)

    def _not_beside_itself(self, row: Object) -> None:
        """R-15: no job is placed while pods of it run anywhere, be it in the cluster that it is given."""
        where = set(self.running.get(row["uid"], {}).values())
        if where:
            raise Violation("R-15", f"{row['uid']} is placed while it runs in {', '.join(where)}")

    def _may_run_again(self, uid: str, epoch: int) -> bool:
        """It completed in the lost time and no member has its Job: a person may run it again."""
        if not self.went_back or uid not in self.completed:
            return False
        return not self._has_an_earlier_job(uid, epoch)

    def _not_beyond_a_failure(self, row: Object) -> None:
        """A failure in the lost time binds for as long as a member has the Job that failed."""
        if not self.went_back or self._has_an_earlier_job(row["uid"], row["epoch"]):
            super()._not_beyond_a_failure(row)

    def _has_an_earlier_job(self, uid: str, epoch: int) -> bool:
        jobs = [job for member in self.members.values() for job in member.jobs.values()]
        return any(of == uid and at != epoch for of, at in map(uid_and_epoch, jobs))


class Restorable(Whole):
    """A hub of which a copy is kept, and put in its place later."""

    members: dict[str, Any]

    async def _agent_sync(self, **more: Any) -> AgentSync:
        known = await self.hub.write(identity.load)
        self.hub.timeline = await self.hub.write(timeline.begin, known.incarnation, known.page_key)
        told = {"incarnation": known.incarnation, "timeline": self.hub.timeline}
        return await super()._agent_sync(**told, **more)

    def back_up(self) -> None:
        """Copy the store as it is."""
        self.world.note("* the hub's store is copied")
        with (
            sqlite3.connect(self._file("hub.db")) as live,
            sqlite3.connect(self._file("copy.db")) as copy,
        ):
            live.backup(copy)

    def restore(self) -> None:
        """Begin from the copy; the hub knows that it is one, and stops."""
        self.world.note("* the copy takes the store's place")
        if self.up:
            self.die()
        for old in self.folder.glob("hub.db*"):
            old.unlink()
        shutil.copy(self._file("copy.db"), self._file("hub.db"))
        self.checks.lost.append(self.books.works)
        self.books.workloads, self.books.works = {}, {}
        self.checks.went_back = True  # type: ignore[attr-defined]
        self.checks.sessions.clear()
        self.start()
        self.run(self.hub.write(self._stop))
        self._look_at_the_books()

    def accept(self) -> None:
        if self.up:
            self.world.note("* the restored store is accepted")
            self.run(self.hub.write(restored.accept, "ada"))
            self._look_at_the_books()
            self.checks.accepted = True  # type: ignore[attr-defined]
        else:
            self.world.after(1.0, self.accept)

    def wish(self, uid: str, wish: str) -> None:
        """A release that is accepted replaces what anyone wished in the lost time."""
        before = self.books.workloads.get(uid)
        super().wish(uid, wish)
        back: bool = self.checks.went_back  # type: ignore[attr-defined]
        if wish == "release" and back and self.books.workloads.get(uid) != before:
            self.checks.given_up.pop(uid, None)

    def forget(self, uid: str) -> None:
        """An administrator has a member remove a Job of before, if one reports it."""
        if self.up:
            with suppress(Rejected):
                self.run(self.hub.write(adopt.forget_job, uid, "", "ada"))
            self._look_at_the_books()

    def _stop(self, tx: Transaction) -> None:
        known = self.sync.incarnation, b""
        mark = timeline.StoreTimeline(*known, [("lost", 0)]).mark(1)
        timeline.stop(tx, "north", mark, *known)

    def _file(self, name: str) -> Path:
        return self.folder / name


def _is_held_beside_a_retry(seed: int) -> bool:
    """In one seed of ten; only odd ones ask for exit codes."""
    return seed % 2 == 1 and random.Random(seed ^ 0xA8).random() < 0.2


def _held_beside_a_retry(scenario: Scenario) -> Scenario:
    """A failure that is tried again is held too, and its agent restarts as the Job goes."""
    die = random.Random(scenario.seed ^ 0xA8A8)
    held = Fault(die.random() * 0.3, "hold", "w0", 20.0, die.random(), "withdraw")
    dies = Fault(0.0, "agent dies", "", die.random() * 5.0, 0.0, "deleted")
    return replace(scenario, retries=3, failing=0.9, run_s=3.0, trouble=0.0, faults=[held, dies])


def _is_forgotten_while_it_runs(seed: int) -> bool:
    """In one seed of ten."""
    return seed % 2 == 0 and random.Random(seed ^ 0xA3).random() < 0.2


def _forgotten_while_it_runs(scenario: Scenario) -> Scenario:
    """Nothing else befalls a Job of the lost time that runs for minutes and takes long to end."""
    return replace(
        scenario, run_s=300.0, grace_s=15.0, faults=[], jobs=1, limit=2, trouble=0.0, failing=0.0,
        consent=False, queue_s=0.0, foreign=False,
    )  # fmt: skip


class RestoredRun(WholeRun):
    """A scenario in which the store goes back once."""

    plays_losses = frozenset[str]()
    plays_consent = frozenset[str]()
    plays_queues = frozenset[str]()

    def __init__(self, scenario: Scenario, *, tell: bool = False) -> None:
        die = random.Random(scenario.seed ^ 0xBAC)
        long = (
            60.0 if die.random() < 0.4 else scenario.run_s
        )  # it may run throughout the lost time
        scenario, beside = replace(scenario, run_s=long), _is_held_beside_a_retry(scenario.seed)
        forgotten = _is_forgotten_while_it_runs(scenario.seed)
        scenario = _held_beside_a_retry(scenario) if beside else scenario
        self.guard = guard = None if beside or forgotten else guards.guard_of(scenario.seed)
        scenario = guards.guarded(scenario) if guard else scenario
        super().__init__(_forgotten_while_it_runs(scenario) if forgotten else scenario, tell=tell)
        # Half of the copies are of the first moments, in which jobs wait that run in the lost time.
        copied = 0.3 + die.random() * (1.5 if die.random() < 0.5 else 25.0)
        copied += 20.0 * beside
        back = copied + 0.5 + die.random() ** 2 * _LONGEST_LOST_S
        self.accepted = back + die.random() ** 2 * 30.0
        # In some seeds members have more earlier Jobs than the store keeps.
        self._most = leftovers.MOST_OF_MEMBER
        leftovers.MOST_OF_MEMBER = 0 if scenario.seed % 5 == 0 else self._most  # type: ignore[misc]
        if guard:
            copied, back, self.accepted = guards.arrange(self, guard)
        elif forgotten:
            self.world.at(0.1, self.hub.wish, "w0", "hold")
            self.world.at(copied + (back - copied) * 0.2, self.hub.wish, "w0", "release")
        elif die.random() < 0.7:
            copied, back, self.accepted = copied + 8.0, back + 8.0, self.accepted + 8.0
            self._run_in_the_lost_time(die, copied, back)
        self.world.at(copied, self.hub.back_up)  # type: ignore[attr-defined]
        self.world.at(back, self.hub.restore)  # type: ignore[attr-defined]
        self.world.at(self.accepted, self.hub.accept)  # type: ignore[attr-defined]
        self.hub_cluster: HubCluster | None = None
        if random.Random(scenario.seed ^ 0x4C0B).random() < 0.4:
            self.hub_cluster = HubCluster(self.hub, scenario.seed, self.accepted + _BLIND_S)
        self.silent = ("", 0.0)  # a member, and until when
        if die.random() < 0.7 and not (forgotten or guard):
            longest = _HOURS_S if die.random() < 0.2 else 200.0
            self.silent = (
                die.choice(sorted(self.members)), self.accepted + 10.0 + die.random() * longest,
            )  # fmt: skip
            self.world.at(back - 0.1, self._silence)
        if die.random() < 0.4:  # hubs of the release before order sessions by clocks: not these
            step = dt.timedelta(seconds=die.uniform(-_CLOCK_S, _CLOCK_S))
            self.world.at(back + die.random() * 60.0, self._step_clocks, step)
        if die.random() < 0.3:  # never back (assumption 5)
            self.hub.clock.ahead = dt.timedelta()
            ahead = dt.timedelta(seconds=die.random() * _CLOCK_S)
            self.world.at(back - 0.05, self._step_hub, ahead)

    def _run_in_the_lost_time(self, die: random.Random, copied: float, back: float) -> None:
        """Jobs wait for a release in the copy, and are released in the lost time."""
        which, wish = die.random(), die.choice(("hold", "deactivate"))
        self.world.at(copied - 8.0 * die.random(), self._act, wish, which)
        self.world.at(copied + (back - copied) * 0.5 * die.random(), self._act, "release", which)

    def _act_blindly(self) -> None:
        """People release, hold, deactivate and forget in any order after the restore."""
        if self.guard:
            guards.ask_again(self)
            return
        die = random.Random(self.scenario.seed ^ 0xB11D)
        acts = (
            "release",
            "release",
            "release",
            "hold",
            "deactivate",
            "forget",
            "forget",
            "cancel",
        )
        if _is_forgotten_while_it_runs(self.scenario.seed):  # once all members have reported
            at = self.accepted + 70.0 + die.random() * 60.0
            self.world.at(at, self._forget_and_lose, 60.0)
            self.world.at(at + die.random() * 3.0, self.hub.wish, "w0", "release")
            return
        for _ in range(die.randrange(4, 24)):
            at, act = self.accepted + die.random() ** 2 * _BLIND_S, die.choice(acts)
            which = die.random()
            self.world.at(at, self._act, act, which)
            if act in {"forget", "hold"}:  # and at once the release
                self.world.at(at + die.random() * 3.0, self._act, "release", which)

    def _forget_and_lose(self, seconds: float) -> None:
        """The member that has the Job is not heard from just as it is to remove it."""
        self.hub.forget("w0")  # type: ignore[attr-defined]
        for name, member in self.members.items():
            if any(uid_and_epoch(job)[0] == "w0" for job in member.jobs.values()):
                self.hub.networks[name].cut_until = self.world.now + seconds

    def _silence(self) -> None:
        """One member is not heard from the restore until long after the acceptance."""
        member, until = self.silent
        if member:
            self.hub.networks[member].cut_until = until

    def _step_clocks(self, step: dt.timedelta) -> None:
        """The clocks of all agents are set, back or ahead."""
        for agent in self.agents:
            agent.clock.step(step)

    def _step_hub(self, ahead: dt.timedelta) -> None:
        """The hub's clock is set ahead, and stays so."""
        self.hub.clock.ahead = ahead

    def mend(self) -> None:
        """Everything works again, but for the member that is silent for longer."""
        super().mend()
        self._silence()

    def _act(self, act: str, which: float) -> None:
        uids = sorted(self.hub.books.workloads)  # type: ignore[attr-defined]
        if not uids:
            return
        uid = uids[int(which * len(uids))]
        if act == "forget":
            self.hub.forget(uid)  # type: ignore[attr-defined]
        elif self.hub_cluster is not None and act in {"hold", "release"} and which * 7 % 1 < 0.4:
            self.hub_cluster.edit(uid, wish=act == "release")
        else:
            self.hub.wish(uid, act)

    def finish(self) -> None:
        """The limit of the store is as it was."""
        leftovers.MOST_OF_MEMBER = self._most  # type: ignore[misc]
        super().finish()

    def new_checks(self) -> Checks:
        return LostTime()

    def new_hub(self, names: list[str]) -> Any:
        hub = Restorable(self.world, self.checks, names, self.scenario.limit)
        hub.members = self.members
        return hub

    def play(self) -> None:
        """Raises Violation. At the end a person goes through what is held, again and again."""
        world = self.world
        self._act_blindly()
        world.run(max(_FAULTS_S, self.accepted) + 1.0)
        self.mend()
        until = max(world.now, self.silent[1]) + _LAST_S
        while world.now < until:
            world.run(world.now + 20.0)
            for uid, row in list(self.hub.books.workloads.items()):  # type: ignore[attr-defined]
                if row["state"] == "Held":
                    self.hub.wish(uid, "release")
        told = (world.wall() - dt.timedelta(seconds=_TOLD_S)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.checks.come_to_an_end(told)  # type: ignore[attr-defined]

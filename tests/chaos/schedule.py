"""A schedule: what is submitted and what breaks when, all of it from one number. Pure.

A schedule is a handful of scenes, each a few actions that belong together because that is how things
go wrong: a member hangs *and* somebody holds what was just offered to it. Which jobs an action means
is said by a rule ("three of those Offered there") and settled when it is done, so the same number
gives the same schedule on every machine, though not the same history.
"""

import hashlib
import json
import random
from dataclasses import dataclass

from tests.chaos import acts_of_people
from tests.chaos.drawing import LEADER, LENGTH_S, Action, Draw, Scene

_FIRST_SCENE_S = 3.0
_LAST_SCENE_S = 30.0
_LONGEST_HANG_S = 14.0


@dataclass(frozen=True)
class Schedule:
    """Everything one number decides."""

    seed: int
    members: int
    lease_s: float
    quota: int  # cores of the queue `tight`
    env: tuple[tuple[str, str], ...]
    actions: tuple[Action, ...]
    hubs: int = 1  # more than one share a database of PostgreSQL

    @property
    def hash(self) -> str:
        """The same for the same schedule."""
        text = json.dumps(
            [self.seed, self.members, self.lease_s, self.quota, self.env,
             [(a.at, a.do, a.args) for a in self.actions], *([self.hubs] if self.hubs > 1 else [])]
        )  # fmt: skip
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def schedule(seed: int, hubs: int = 1) -> Schedule:
    """The schedule of a number; for several hubs it has scenes of theirs beside fewer of the others."""
    draw = Draw(seed, hubs)
    rng = draw.rng
    for _ in range(rng.randint(2, 3)):
        draw.submit(rng.uniform(0, LENGTH_S / 2), rng.randint(4, 12))
    if rng.random() < 0.75:
        draw.load()
    for scene in _drawn(rng, _SCENES, rng.randint(5, 8) if hubs == 1 else rng.randint(2, 4)):
        scene(draw, round(rng.uniform(_FIRST_SCENE_S, _LAST_SCENE_S), 2))
    for scene in _drawn(rng, acts_of_people.SCENES, rng.randint(1, 3)):
        scene(draw, round(rng.uniform(_FIRST_SCENE_S, acts_of_people.LAST_S), 2))
    for scene in _drawn(rng, _OF_HUBS, rng.randint(3, 5)) if hubs > 1 else ():
        scene(draw, round(rng.uniform(_FIRST_SCENE_S, _LAST_SCENE_S), 2))
    silence = rng.choice([(3, 4), (3, 4), (6, 8), (20, 25)])
    return Schedule(
        seed=seed,
        members=draw.members,
        lease_s=rng.choice([3.0, 5.0, 8.0]),
        quota=rng.choice([4, 6, 8]),
        env=(
            ("ROADSTEAD_SCHEDULING_SUSPECT_AFTER_S", str(silence[0])),
            ("ROADSTEAD_SCHEDULING_UNREACHABLE_AFTER_S", str(silence[1])),
        ),
        actions=tuple(sorted(draw.actions)),
        hubs=hubs,
    )


def _drawn(rng: random.Random, scenes: tuple[tuple[Scene, float], ...], count: int) -> list[Scene]:
    weights = [weight for _, weight in scenes]
    return rng.choices([each for each, _ in scenes], weights, k=count)


# --- scenes: what goes wrong together ---------------------------------------------------------------


def _hang_while_taken_back(draw: Draw, at: float) -> None:
    """A member hangs, jobs are offered to it, held and let go again; then it wakes up."""
    rng, member = draw.rng, draw.member()
    seconds = rng.uniform(5, _LONGEST_HANG_S)
    _hang(draw, at, member, seconds)
    draw.submit(at + rng.uniform(0.1, 0.6), rng.randint(5, 10), run_s=rng.uniform(4, 8))
    held = at + rng.uniform(1.5, 3)
    wanted = {"states": ["Offered", "Placed"], "cluster": member}
    verb = rng.choice(["hold", "hold", "hold", "cancel"])
    draw.add(held, verb, count=rng.randint(3, 6), **wanted)
    draw.add(held + rng.uniform(1, 2.5), "release", count=9)
    draw.add(held + rng.uniform(2.5, 4), "release", count=9)


def _hang_while_preempted(draw: Draw, at: float) -> None:
    """A member hangs with jobs offered to it, and higher priorities take their quota."""
    rng, member = draw.rng, draw.member()
    _hang(draw, at, member, rng.uniform(6, _LONGEST_HANG_S))
    both = {"tight": True, "indexes": 1}
    draw.submit(at + 0.2, 8, run_s=rng.uniform(3, 6), priority="low", **both)
    draw.submit(at + rng.uniform(2, 3.5), 6, run_s=rng.uniform(1, 2), priority="high", **both)


def _hang(draw: Draw, at: float, member: str, seconds: float) -> None:
    """The member's API server hangs: on the way to it, or as a stopped process."""
    if draw.rng.random() < 0.7:
        draw.add(at, "link", link=f"api-{member}", mode="hang", seconds=round(seconds, 2))
    else:
        draw.add(at, "stop", part=f"sim-{member}", seconds=round(seconds, 2))


def _stale_watch_while_taken_back(draw: Draw, at: float) -> None:
    """The agent's watch says nothing while jobs complete; they are held, or deleted by hand."""
    rng, member = draw.rng, draw.member()
    draw.submit(at, rng.randint(8, 14), run_s=rng.uniform(0.8, 1.6), indexes=1)
    stall = at + rng.uniform(0.6, 1.4)
    seconds = round(rng.uniform(3, 6), 2)
    draw.add(stall, "fault", member=member, action="stall", resource="jobs", seconds=seconds)
    wanted = {"states": ["Applied", "Running", "Offered"], "cluster": member}
    verb = rng.choice(["hold", "hold", "cancel"])
    draw.add(stall + rng.uniform(0.8, 2.2), verb, count=rng.randint(4, 9), **wanted)
    if rng.random() < 0.5:
        draw.add(stall + 0.3, "delete_by_hand", member=member, seconds=seconds, count=5)
    draw.add(stall + seconds, "release", count=15)
    draw.add(stall + seconds + 2, "release", count=15)


def _burst_of_ends(draw: Draw, at: float) -> None:
    """Jobs complete and are deleted by hand at once, while their agent sleeps, is slow or is dead."""
    rng, member = draw.rng, draw.member()
    draw.submit(at, rng.randint(6, 12), run_s=rng.uniform(0.5, 1.5), indexes=1)
    hurt = at + rng.uniform(0.4, 1.2)
    seconds = round(rng.uniform(2, 5), 2)
    match rng.randint(0, 2):
        case 0:
            draw.add(hurt, "stop", part=f"agent-{member}", seconds=seconds)
        case 1:
            draw.add(hurt, "kill", part=f"agent-{member}", seconds=seconds)
        case _:
            draw.add(hurt, "link", link=f"api-{member}", mode="slow", seconds=seconds)
    draw.add(hurt + 0.1, "delete_by_hand", member=member, seconds=seconds + 1, count=6)
    if rng.random() < 0.6:
        wanted = {"states": ["Applied", "Running", "Offered"], "cluster": member}
        draw.add(hurt + rng.uniform(0.5, seconds), "hold", count=6, **wanted)
        draw.add(hurt + seconds + 2, "release", count=15)


def _throttled_and_superseded(draw: Draw, at: float) -> None:
    """An agent is throttled and cut off from the hub; a second one takes its credential over."""
    rng, member = draw.rng, draw.member()
    count = rng.randint(8, 30)
    draw.add(at, "fault", member=member, action="429", verb="create", resource="jobs",
             count=count, seconds=rng.choice([2, 3, 4]))  # fmt: skip
    draw.submit(at + 0.1, rng.randint(6, 10), run_s=rng.uniform(3, 6))
    cut = at + rng.uniform(0.8, 1.6)
    seconds = round(rng.uniform(8, 16), 2)
    draw.add(cut, "link", link=f"hub-{member}", mode="cut", seconds=seconds)
    draw.add(cut + 0.2, "twin", member=member, kind="copy", linked=False, seconds=seconds - 1)
    held = cut + rng.uniform(1.5, 4)
    wanted = {"states": ["Offered"], "cluster": member}
    draw.add(held, "hold", count=6, **wanted)
    draw.add(held + rng.uniform(4, 7), "release", count=15)


def _killed(draw: Draw, at: float) -> None:
    """kill -9 of a part."""
    part = draw.rng.choice(["hub", f"agent-{draw.member()}", f"sim-{draw.member()}"])
    draw.add(at, "kill", part=part, seconds=round(draw.rng.choice([0, 0, 1, 4, 8]), 2))


def _stopped(draw: Draw, at: float) -> None:
    """SIGSTOP … SIGCONT of a part."""
    part = draw.rng.choice(["hub", f"agent-{draw.member()}", f"sim-{draw.member()}"])
    draw.add(at, "stop", part=part, seconds=round(draw.rng.uniform(1, 8), 2))


def _link_broken(draw: Draw, at: float) -> None:
    """A link misbehaves for a while."""
    side = draw.rng.choice(["hub", "api"])
    mode = draw.rng.choice(["cut", "hang", "mute", "lose", "slow"])
    seconds = round(draw.rng.uniform(1, 9), 2)
    draw.add(at, "link", link=f"{side}-{draw.member()}", mode=mode, seconds=seconds)


def _server_faults(draw: Draw, at: float) -> None:
    """A member's API server refuses, delays or answers wrongly."""
    rng = draw.rng
    actions = [
        "409",
        "429",
        "500",
        "503",
        "504-after",
        "delay",
        "drop",
        "drop-after",
        "410",
        "cut",
    ]
    for _ in range(rng.randint(1, 3)):
        draw.add(
            at + rng.uniform(0, 3), "fault", member=draw.member(), action=rng.choice(actions),
            verb=rng.choice(["create", "delete", "patch", "list", "get", ""]),
            resource=rng.choice(["jobs", "jobs", "pods"]), count=rng.randint(1, 5),
            seconds=round(rng.uniform(0.5, 3), 2),
        )  # fmt: skip
    draw.submit(at + 0.5, rng.randint(3, 8))


def _second_agent(draw: Draw, at: float) -> None:
    """A second agent with the same credential, copied or from the same folder."""
    kind = draw.rng.choice(["copy", "same"])
    seconds = round(draw.rng.uniform(3, 9), 2)
    draw.add(at, "twin", member=draw.member(), kind=kind, linked=True, seconds=seconds)


def _agent_forgets(draw: Draw, at: float) -> None:
    """An agent loses its folder and joins anew."""
    draw.add(at, "forget", member=draw.member())


def _resized(draw: Draw, at: float) -> None:
    """Jobs are applied with one pod and at once with many, or with fewer while they run."""
    rng = draw.rng
    draw.submit(at, 4, run_s=2, indexes=1, tight=True, grows=True)
    for delay in (0.05, 0.4, rng.uniform(0.6, 3)):
        draw.add(at + delay, "resize", count=4, to=rng.choice([1, 2, 3]))


def _by_the_user(draw: Draw, at: float) -> None:
    """Holds, cancels, deletions, other priorities, and a name used again."""
    rng = draw.rng
    draw.submit(at, rng.randint(4, 8))
    for _ in range(rng.randint(2, 4)):
        verb = rng.choice(["hold", "cancel", "delete", "prioritise", "replace", "release"])
        states = rng.choice(
            [["Running", "Applied"], ["Offered", "Applied"], ["Pending", "Placed"]]
        )
        draw.add(at + rng.uniform(0.3, 4), verb, count=rng.randint(1, 4), states=states)
    draw.add(at + 5, "release", count=15)


# --- scenes of several hubs -------------------------------------------------------------------------


def _leader_killed(draw: Draw, at: float) -> None:
    """kill -9 of the hub that leads, while jobs come; perhaps of the next one too."""
    rng = draw.rng
    draw.submit(at + rng.uniform(-1, 0.5), rng.randint(4, 8))
    draw.add(at, "kill", part=LEADER, seconds=round(rng.choice([0, 1, 6, 12]), 2))
    if rng.random() < 0.3:
        draw.add(at + rng.uniform(0.5, 10), "kill", part=draw.hub(), seconds=1)


def _hub_paused(draw: Draw, at: float) -> None:
    """A hub is stopped, mostly the one that leads, for less or more than its lease."""
    rng = draw.rng
    part = LEADER if rng.random() < 0.7 else draw.hub()
    draw.submit(at + rng.uniform(-0.5, 1), rng.randint(4, 8))
    draw.add(at, "stop", part=part, seconds=round(rng.choice([2, 5, 9, 12]), 2))


def _hub_without_database(draw: Draw, at: float) -> None:
    """The way from one hub to the database is cut, hangs, or loses what the database answers."""
    rng = draw.rng
    mode = rng.choice(["cut", "cut", "hang", "mute", "lose", "slow"])
    draw.submit(at + rng.uniform(-0.5, 1), rng.randint(4, 8))
    draw.add(at, "unbase", hub=draw.hub(), mode=mode, seconds=round(rng.uniform(1, 12), 2))


def _database_restarted(draw: Draw, at: float) -> None:
    """PostgreSQL ends in one of its three ways, or ends all connections, and is there again."""
    rng = draw.rng
    draw.submit(at + rng.uniform(-0.5, 0.2), rng.randint(4, 8))
    how = rng.choice(["crash", "crash", "fast", "connections"])
    draw.add(at, "database", how=how, seconds=round(rng.choice([0, 0.5, 3, 6]), 2))


def _parted(draw: Draw, at: float) -> None:
    """An agent reaches all hubs but one; perhaps that one is killed, or the others are, meanwhile."""
    rng = draw.rng
    seconds = round(rng.uniform(3, 12), 2)
    draw.add(at, "part", member=draw.member(), hub=draw.hub(), seconds=seconds)
    draw.submit(at + rng.uniform(0, 1), rng.randint(4, 8))
    if rng.random() < 0.4:
        draw.add(at + rng.uniform(0.5, seconds), "kill", part=draw.hub(), seconds=1)


_OF_HUBS: tuple[tuple[Scene, float], ...] = (
    (_leader_killed, 3),
    (_hub_paused, 2),
    (_hub_without_database, 3),
    (_database_restarted, 2),
    (_parted, 2),
)
_SCENES: tuple[tuple[Scene, float], ...] = (
    (_hang_while_taken_back, 4),
    (_hang_while_preempted, 2),
    (_stale_watch_while_taken_back, 4),
    (_burst_of_ends, 3),
    (_throttled_and_superseded, 2),
    (_killed, 2),
    (_stopped, 2),
    (_link_broken, 3),
    (_server_faults, 2),
    (_second_agent, 1),
    (_agent_forgets, 0.5),
    (_resized, 1),
    (_by_the_user, 2),
)

"""The sightings of a history as Job objects, their pods, and when each certainly ran. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.chaos.history import History, Sighting

TERMINAL = frozenset({"Succeeded", "Failed", "Cancelled", "Deactivated"})
STAMP_S = 1.0  # what a stamp of whole seconds leaves open


@dataclass(frozen=True, order=True)
class Violation:
    """One broken promise: its number, the job or place, and the evidence as a sentence."""

    invariant: str
    subject: str
    detail: str


@dataclass
class Run:
    """One pod that started: `ended` is the earliest end that the sightings allow, None if it runs."""

    uid: str
    started: float
    ended: float | None
    cpu: float = 0.0

    def __str__(self) -> str:
        return f"pod {self.uid[:8]} {clock(self.started)}–{clock(self.ended)}"


@dataclass
class Copy:
    """One Job object in one member."""

    member: str
    uid: str
    name: str
    owner: str
    epoch: int
    created: float
    deleting: float = 0.0
    result: str = ""
    ended: float = 0.0
    gone: bool = False
    runs: list[Run] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.member}/{self.uid}"

    def __str__(self) -> str:
        text = (
            f"epoch {self.epoch} in {self.member} (Job {self.uid[:8]}, made {clock(self.created)}"
        )
        if self.result:
            text += f", {self.result} {clock(self.ended)}"
        runs = ", ".join(str(run) for run in sorted(self.runs, key=lambda r: r.started)[:3])
        return f"{text}{', ' + runs if runs else ''})"


def copies_of(history: History) -> Iterator[Copy]:
    """Every Job object that was seen, with the pods of it that started."""
    copies: dict[str, Copy] = {}
    pods: dict[str, list[Sighting]] = defaultdict(list)
    for each in history.sightings:
        if each.kind == "Pod":
            pods[f"{each.member}/{each.uid}"].append(each)
            continue
        copy = copies.get(f"{each.member}/{each.uid}")
        if copy is None:
            copy = Copy(each.member, each.uid, each.name, each.owner, each.epoch, each.created)
            copies[copy.key] = copy
        copy.deleting = copy.deleting or each.deleting
        copy.gone = copy.gone or each.change == "DELETED"
        if each.result and not copy.result:
            copy.result, copy.ended = each.result, each.ended
    for versions in pods.values():
        owner = copies.get(f"{versions[0].member}/{versions[0].owner}")
        run = _run(versions)
        if owner is not None and run is not None:
            owner.runs.append(run)
    yield from copies.values()


def _run(versions: list[Sighting]) -> Run | None:
    started = next((each.started for each in versions if each.started), 0.0)
    if not started:
        return None
    ends = [each.ended for each in versions if each.ended]
    ends += [each.deleting for each in versions if each.deleting]
    if not ends and any(each.change == "DELETED" for each in versions):
        ends = [started]  # it is gone; nothing says how long it ran
    ended = max(started, min(ends)) if ends else None
    return Run(versions[0].uid, started, ended, versions[0].cpu)


def clock(at: float | None) -> str:
    """A time as minutes and seconds of its hour."""
    return "now" if at is None else f"{int(at) // 60 % 60:02d}:{int(at) % 60:02d}"


def most_at_once(runs: Iterable[Run]) -> tuple[float, float]:
    """The most cores that certainly ran at one instant, and when."""
    steps: list[tuple[float, int, float]] = []
    for run in runs:
        begins = run.started + STAMP_S
        if run.ended is None:
            steps.append((begins, 1, run.cpu))
        elif begins < run.ended:
            steps += [(begins, 1, run.cpu), (run.ended, 0, -run.cpu)]
    now = most = at = 0.0
    for when, _, change in sorted(steps):
        now += change
        if now > most:
            most, at = now, when
    return most, at

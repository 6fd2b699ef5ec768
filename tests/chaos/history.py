"""What one schedule left behind: the recorder's sightings, what was acknowledged, how it ended.

Times are seconds since 1970 on this machine's clock, which hub, members and recorder share.
"""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

Json = dict[str, Any]


@dataclass(frozen=True)
class Sighting:
    """One version of a Job or a pod, as a member's API server showed it."""

    at: float  # when it was read
    member: str
    kind: str  # "Job" or "Pod"
    change: str  # ADDED, MODIFIED, DELETED
    uid: str
    name: str
    owner: str = ""  # of a Job: the hub's uid of it, "" for a stranger's; of a pod: the Job's uid
    epoch: int = 0
    created: float = 0.0
    deleting: float = 0.0  # when its deletion was asked for
    started: float = 0.0
    ended: float = 0.0
    result: str = ""  # of a Job: Complete or Failed; of a pod: its phase
    cpu: float = 0.0
    version: str = ""


@dataclass
class Ledger:
    """What the campaign's user was told by the hub, and what was done by hand."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # uid → name
    changed_uids: list[Json] = field(default_factory=list)  # one key, two uids
    unanswered: set[str] = field(default_factory=set)  # names whose submission has no answer
    deleted: set[str] = field(default_factory=set)  # uids whose deletion was asked of the hub
    by_hand: set[str] = field(default_factory=set)  # "<member>/<uid>" deleted in the member
    strangers: set[str] = field(default_factory=set)  # "<member>/<uid>" of Jobs not ours
    tight: set[str] = field(default_factory=set)  # names of jobs in the queue of limited quota
    steered: set[str] = field(
        default_factory=set
    )  # names of jobs in a queue that placements select
    windows: list["Window"] = field(default_factory=list)
    restores: list["Restore"] = field(default_factory=list)
    lost: set[str] = field(
        default_factory=set
    )  # uids acknowledged between a backup and its restore
    maps: dict[str, str] = field(
        default_factory=dict
    )  # "<member>/<name>" of ConfigMaps not ours → uid
    seized: bool = False  # some placement may take over what is not ours
    notes: list[str] = field(default_factory=list)  # what the campaign itself could not do
    keeps: bool = False  # the placement that stays was acknowledged


class Window(TypedDict):
    """An acknowledged change of the tight queue, and from when until when it binds."""

    what: str  # "stopped", "deleted" or "resized"
    since: float  # when the change had been acknowledged
    until: float  # when the next change was requested, 0 for never
    cores: float  # of "resized"


class Restore(TypedDict):
    """A backup that was taken and restored, and what the hub then knew of each job."""

    backup: float  # when it was begun
    stopped: float
    up: float
    accepted: float  # 0: not yet
    jobs: dict[str, Json]  # uid → state, cluster and epoch


@dataclass
class Ending:
    """How hub and members stood after everything was healed."""

    jobs: list[Json] = field(default_factory=list)  # as GET /v1/jobs shows them
    charged: dict[str, float] = field(default_factory=dict)  # ClusterQueue/resource → usage
    present: set[str] = field(default_factory=set)  # "<member>/<uid>" of Jobs and pods
    maps: dict[str, Json] = field(default_factory=dict)  # "<member>/<name>" → uid, ours, data
    settled: bool = True
    waited_s: float = 0.0
    at: float = 0.0


@dataclass
class History:
    """Everything that `judge` looks at."""

    sightings: list[Sighting] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    ending: Ending = field(default_factory=Ending)
    gaps: list[str] = field(default_factory=list)  # members whose watch lost events
    quota: float = 0.0  # the most cores that the queue of limited quota ever had
    events: list[Json] = field(default_factory=list)  # of jobs: at, uid, reason, cause, epoch

    def save(self, folder: Path) -> None:
        """Write `sightings.jsonl` and `rest.json` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(asdict(each)) for each in self.sightings)
        (folder / "sightings.jsonl").write_text("".join(line + "\n" for line in lines))
        rest = {
            "ledger": _plain(asdict(self.ledger)),
            "ending": _plain(asdict(self.ending)),
            "gaps": self.gaps,
            "quota": self.quota,
            "events": self.events,
        }
        (folder / "rest.json").write_text(json.dumps(rest, indent=1, sort_keys=True))


def load(folder: Path) -> History:
    """The history that `History.save` wrote into a folder."""
    lines = (folder / "sightings.jsonl").read_text().splitlines()
    rest = json.loads((folder / "rest.json").read_text())
    return History(
        sightings=[Sighting(**json.loads(line)) for line in lines],
        ledger=Ledger(**_sets(rest["ledger"], Ledger)),
        ending=Ending(**_sets(rest["ending"], Ending)),
        gaps=rest["gaps"],
        quota=rest["quota"],
        events=rest.get("events", []),
    )


def _plain(record: Mapping[str, Any]) -> Json:
    return {k: sorted(v) if isinstance(v, set) else v for k, v in record.items()}


def _sets(record: Json, kind: type) -> Json:
    fresh = kind()
    return {k: set(v) if isinstance(getattr(fresh, k), set) else v for k, v in record.items()}


def seconds(stamp: str | None) -> float:
    """An RFC 3339 stamp as seconds since 1970; 0 for none."""
    return dt.datetime.fromisoformat(stamp).timestamp() if stamp else 0.0

"""The nouns of a decision about one work: what is seen, the moment, the step decided, how it ended. Pure.

The rules stand in `agent.decide.jobs` and `agent.decide.plain_objects`; `agent.decide.next_step` picks
between the two.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from agent.objects.facts import Object, epoch_of, finished, is_unstarted
from agent.objects.holds import JOB, JOB_HOLD, Hold
from agent.objects.readings import Reading, version_of
from shared.wire.agent_v1 import Order, Phase
from shared.wire.namespaces import NAMESPACE_NOT_EMPTY

Do = Literal[
    "Nothing",
    "Create",  # a Job, not started yet
    "Start",  # the Job with this very uid
    "PatchJob",
    "Delete",
    "Release",  # take our finalizer off
    "MarkWaiting",  # say on a Job that waits in the member's queue that it is taken back
    "DeleteWaiting",  # … and delete it, if this version of it never ran
    "Apply",
    "Compare",  # an object with what is there, past every cache, writing nothing
    "Abandon",  # an object, no Job: it stays, and nothing of ours on it
    "DeleteNamespace",  # if nothing is left in it
    "ReadBack",  # look by name, past every cache
    "CountPods",  # look for pods of the job, past every cache
]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the last try did not succeed. `final`: trying again would change nothing."""

    reason: str
    message: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is told of a comparison besides the differences: the object's generation, 0 if there is none.

    `note`: what it could not take into account.
    """

    generation: int = 0
    note: str = ""


@dataclass(slots=True)
class Seen:
    """What the agent knows about one uid in the member, besides the work itself.

    Instants are monotonic seconds and belong to the beginning of a read.
    """

    live: Object | None = None  # the object that carries our labels with this uid
    ever: bool = False  # this epoch's object was there, started, at some time of this session
    started: bool = False  # this session decided to ask for the start of this epoch, or has asked
    asked: bool = False  # this session may have sent that request
    refused: bool = False  # the member has answered each such request with a refusal
    vanished: bool = False  # it went away without our asking: look before concluding
    absent_at: float | None = None  # a read past the caches that began then found nothing
    podless_at: float | None = None  # such a read found no pods
    foreground: str = ""  # uid of the object that was seen waiting for its pods to go
    podless: str = ""  # uid of the deleted object of which a read past the caches found no pods
    acknowledged: str = ""  # uid of the object whose end the hub has stored
    told: str = ""  # uid of the object whose result the hub has stored
    forgotten: str = ""  # uid of the object of a later epoch than the hub, told of it, knows
    closed: Literal["", "Gone", "Missing"] = ""  # said of this epoch; nothing of it is begun again
    ordered: str = ""  # uid of the object that the hub wants removed though nothing desires it
    left: str = ""  # uid of the object that the hub does not know and leaves to people
    pods: int = 0  # pods of this job that still exist
    trouble: Trouble | None = None
    not_before: float = 0.0  # monotonic instant of the next try
    drifted: bool = False  # a desired path does not hold (see agent.objects.drift)
    added: bool = (
        False  # others have added fields, and they count (see agent.objects.full_comparison)
    )
    compared_at: float | None = None  # when an object that is only compared was last, and how:
    comparison: Comparison = Comparison()
    kept: str = ""  # why a withdrawn namespace stays in the member
    hold: Hold | None = JOB_HOLD  # how the job's object is held; None: the hub has not told
    reading: Reading | None = None  # what the definition of its kind says of it; of no Job
    make_room: bool = False  # a newer job of the same name needs the place of this ended one

    def ended(self) -> dt.datetime | None:
        """When the job ended, as its object says; None: it has not, or that is not known."""
        live, reading = self.live, self.reading
        if live is None:
            return None
        if (live.get("apiVersion"), live.get("kind")) == JOB:
            return finished(live)
        mine = reading is not None and reading.object_uid == live["metadata"].get("uid")
        return reading.ended_at if reading is not None and mine else None

    def failed_pods(self) -> int:
        """Count the pods that must have failed, as the object says: at most one of a kind that is no Job."""
        live, reading = self.live, self.reading
        if live is None:
            return 0
        if (live.get("apiVersion"), live.get("kind")) == JOB:
            return (live.get("status") or {}).get("failed") or 0
        mine = reading is not None and reading.object_uid == live["metadata"].get("uid")
        return int(mine and reading is not None and reading.result == "Failed")

    def is_unread(self) -> bool:
        """Tell if it is still to be read if this version of the object has ended; never of a Job."""
        live, reading = self.live, self.reading
        if live is None or (live.get("apiVersion"), live.get("kind")) == JOB:
            return False
        return reading is None or (reading.object_uid, reading.version) != version_of(live)

    def order(self, order: Order) -> None:
        """What the hub says of an object that nothing desires."""
        if order.action == "Remove":
            self.ordered = order.object_uid
        else:
            self.left = order.object_uid

    def new_epoch(self, epoch: int) -> None:
        """What was known of an earlier epoch says nothing of this one."""
        live = self.live
        self.ever = live is not None and epoch_of(live) == epoch and not is_unstarted(live)
        self.started = self.asked = self.refused = False
        self.closed = ""
        self.absent_at = self.podless_at = None


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment a decision is made in. `now` is monotonic seconds, `wall` UTC."""

    hub_id: str
    now: float
    wall: dt.datetime
    may_start: bool  # the lease is fresh (wire module, LEASE_S)
    settled_at: float | None  # since then no earlier session can start anything; None: not yet
    synced: bool = True  # the cache of this kind has been complete once
    served: bool = True  # the member serves the kind
    refused: str = ""  # why the agent may not read the kind
    closed: Trouble | None = None  # a Job's namespace refuses the hub: what is told of that
    wave_open: bool = True  # everything this one waits for is applied or failed


@dataclass(frozen=True, slots=True)
class Decision:
    """One step and what to report meanwhile. `wake_at`: monotonic instant to decide again."""

    phase: Phase
    do: Do = "Nothing"
    reason: str = ""
    message: str = ""
    wake_at: float | None = None
    force: bool = False  # of an Apply
    propagation: Literal["Foreground", "Background"] = "Foreground"
    patch: Object = field(default_factory=dict)
    urgent: bool = True  # somebody waits for it
    unstarted: bool = False  # of a Gone: nothing of the epoch was started, and nothing will be


def troubled(seen: Seen, moment: Moment) -> Decision | None:
    """Failed or waiting on account of the last try, until the next one is due."""
    trouble = seen.trouble
    if trouble is None or (not trouble.final and moment.now >= seen.not_before):
        return None
    waits = trouble.reason in TRANSIENT
    wake = None if trouble.final else seen.not_before
    return Decision(
        "Waiting" if waits else "Failed", "Nothing", trouble.reason, trouble.message, wake
    )


PODS_LEFT = "PodsRemain"
NOT_EMPTY = NAMESPACE_NOT_EMPTY
DELETING = "Deleting"  # by somebody in the member
# Reasons that say "not yet", not "no".
TRANSIENT = frozenset({"Unavailable", "Throttled", "NameTaken", "Retrying", PODS_LEFT, NOT_EMPTY})


OBSERVING = Decision("Waiting", reason="Observing", message="reading the member's objects")
LEASE_WAIT = Decision("Waiting", reason="LeaseWait", message="an earlier session may still act")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended. `live`: the object as it now is.

    `absent_at`, `podless_at`: a read that began then (monotonic) found no object of this epoch, no
    pods. `taken_by`: the uid of another work of ours that holds the name. `kept`: why a namespace that
    is withdrawn stays. `refused`: the member answered that the request has no effect; `forbidden`: 403.
    """

    live: Object | None = None
    absent_at: float | None = None
    podless_at: float | None = None
    trouble: Trouble | None = None
    taken_by: str = ""
    kept: str = ""
    refused: bool = False
    forbidden: bool = False

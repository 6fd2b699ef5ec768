"""Follows a job's log through interruptions: hub restarts, and runs in another cluster.

Remembers the read position by container, so that no line is lost or repeated when the stream resumes.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from roadstead.client import Client
from roadstead.errors import NotFound, Rejected, RoadsteadError, TimedOut, Unreachable
from roadstead.models.jobs import Job, JobState
from roadstead.models.pods import LogRecord
from roadstead.retries import BrokeOff, taking_up_again
from shared.log_place import LogPlace

ENDED: Final = "Ended"
LONGEST: Final = "LongestReached"
GIVES_UP_S: Final = 600.0  # of nothing but failures
UNHEARD_S: Final = 20.0  # where the agent listens at another hub process, and nothing is followed
_MOST_PLACES: Final = (
    60  # that are sent: logs beside them are read from their beginning, and known again
)
_LOOK_S: Final = 1.0  # between two looks at a job that waits
_WAITS: Final = frozenset(
    {JobState.HELD, JobState.PENDING, JobState.RESERVED, JobState.PLACED, JobState.OFFERED}
)
# Ends and refusals after which asking again may help; a token that has expired is another one by then.
_BREAKS: Final = frozenset(
    {"AgentSilent", "HubStopped", LONGEST, "OutOfOrder", "MemberNotAnswering", "TokenExpired"}
)
_NOT_YET: Final = frozenset({"JobWaits", "NoPodsYet", "PodsRemoved", "NotBegun"})
_UNHEARD: Final = "AgentNotListening"
_Log = tuple[str, str]  # pod and container


class Places:
    """Read position of each container's log, in the job's current cluster."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._places: dict[_Log, LogPlace] = {}
        self._began = time.monotonic()
        self._moved = False

    def forget(self) -> None:
        """Reset the positions: the job runs in another cluster, whose logs start from the beginning."""
        self._places.clear()
        self._moved = True

    def asked(self) -> dict[str, Any]:
        """Build the next request: the original one at first, later only the missing lines."""
        for place in self._places.values():
            place.resume()
        if self._moved:
            return {**self._asked, "since_s": None, "tail": None, "after": self._after()}
        if not self._places:
            return self._asked
        since_s, tail = self._asked["since_s"], self._asked["tail"]
        if (
            since_s is not None or tail is not None
        ):  # for a log without lines so far: start from then
            since_s = (since_s or 0) + int(time.monotonic() - self._began) + 1
        return {**self._asked, "since_s": since_s, "tail": None, "after": self._after()}

    def is_new(self, record: LogRecord) -> bool:
        """Return whether a line is new."""
        place = self._places.setdefault((record.pod, record.container), LogPlace())
        return place.is_new(str(record.raw.get("time") or ""))

    def _after(self) -> dict[str, str]:
        known = [(log, place.at) for log, place in self._places.items() if place.at]
        return {"/".join(log): at for log, at in known[-_MOST_PLACES:]}


class Followed:
    """One job's log. `take` receives lines, notes and the last end, `say` events of the stream.

    `asked`: arguments of `Client.logs`. Without `patient` it ends if the job waits or the stream breaks.
    """

    def __init__(
        self,
        hub: Client,
        job: Job,
        asked: dict[str, Any],
        take: Callable[[LogRecord], None],
        say: Callable[[str], None],
        *,
        patient: bool,
    ) -> None:
        self._hub, self._job, self._take, self._say = hub, job, take, say
        self._follows = bool(asked["follow"])
        self._patient = patient and self._follows
        self._asked = {**asked, "timestamps": asked["timestamps"] or self._patient}
        self._places = Places(self._asked)
        self._read_in: tuple[str, int] | None = None  # cluster and epoch that were read
        self._notes: set[tuple[str, str, str]] = set()
        self._said = ""  # why it waits
        self._broken = False  # and said so
        self._got_on = False
        self._looked = True

    @property
    def name(self) -> str:
        """The job's `namespace/name`."""
        return self._job.full_name

    def run(self) -> None:
        """Read to the end of the job. Raises errors of `roadstead.errors`."""
        most_s = GIVES_UP_S if self._patient else UNHEARD_S
        try:
            taking_up_again(self._once, self._tell, most_s)
        except BrokeOff as broke:
            words = f"{broke}; asked again for {most_s:g} s in vain"
            raise Unreachable(words, answered=True) from broke

    def _once(self) -> None:
        """Read one stream to its end, or raise BrokeOff."""
        self._got_on = False
        try:
            self._find()
            last = self._read()
        except NotFound as gone:
            if self._read_in and gone.code == "NotFound":
                self._say(f"{self._job.full_name} was deleted")
                return
            raise
        except Rejected as refusal:
            busy = refusal.code == "TooManyStreams" and self._read_in
            if busy or (refusal.code in _NOT_YET and not self._job.has_ended):
                self._wait(refusal.detail, refusal)
            raise
        except Unreachable as failure:
            again = failure.code == _UNHEARD or (self._patient and self._read_in)
            if again:
                raise BrokeOff(str(failure), got_on=self._got_on) from failure
            raise
        self._come_to_end(last)

    def _come_to_end(self, last: LogRecord | None) -> None:
        """Return if the log is complete; raise BrokeOff if the stream should resume."""
        code = last.end.code if last is not None and last.end is not None else ""
        if code == ENDED:
            if self._patient and not self._asked["pod"] and not self._look().has_ended:
                # Nothing more is written there; the hub has yet to hear of the end, or where it runs next.
                raise BrokeOff("", pause_s=_LOOK_S)
        elif self._patient and (not code or code in _BREAKS):
            words = str(_failure_of(last)) if code else "the stream broke off"
            raise BrokeOff(words, got_on=self._got_on)
        if last is not None:
            self._take(last)
        if code != ENDED:
            raise _failure_of(last)

    def _find(self) -> None:
        """Check where the job is; raise BrokeOff while it waits."""
        job = self._look()
        if not self._patient:
            return
        if job.state in _WAITS:
            why = job.message or job.reason
            self._wait(f"{job.full_name} is {job.state}{f': {why}' if why else ''}", None)
        here = job.cluster, job.epoch
        if self._read_in not in (None, here) and job.cluster:
            self._say(f"{job.full_name} runs again on {job.cluster}")
            if self._read_in is not None and self._read_in[0] != job.cluster:
                self._places.forget()

    def _look(self) -> Job:
        if not self._looked:
            self._job = self._hub.job(self._job.uid)
        self._looked = False
        return self._job

    def _read(self) -> LogRecord | None:
        """The last record, with the reason of the end; None if the stream broke off."""
        with self._hub.logs(self._job.uid, **self._places.asked()) as stream:
            self._read_in = self._job.cluster, self._job.epoch
            for record in stream:
                if record.end is not None:
                    return record
                self._got_on, self._broken, self._said = True, False, ""
                if record.note:
                    self._note(record)
                elif self._places.is_new(record):
                    self._take(record)
        return None

    def _note(self, record: LogRecord) -> None:
        """Print a note once, however often the stream resumes."""
        told = record.pod, record.container, record.note
        if told not in self._notes:
            self._notes.add(told)
            self._take(record)

    def _wait(self, why: str, refusal: Rejected | None) -> None:
        """Raise BrokeOff for a retry; or the error, if not patient."""
        if self._patient:
            raise BrokeOff(why, pause_s=_LOOK_S) from refusal

    def _tell(self, broke: BrokeOff) -> None:
        words = str(broke)
        if broke.pause_s is None and not self._broken:
            self._broken = True
            self._say(f"{words}; retrying")
        elif broke.pause_s is not None and words not in ("", self._said):
            self._said = words
            self._say(words)


def _failure_of(last: LogRecord | None) -> RoadsteadError:
    """Convert an unfinished stream into an error."""
    if last is None or last.end is None:
        return Unreachable("the stream broke off; retry with --since", answered=True)
    end = last.end
    words = f"{end.message or end.code} [{end.code}]"
    return TimedOut(words) if end.code == LONGEST else Unreachable(words, answered=True)

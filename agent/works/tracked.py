"""Everything the agent remembers of one uid, and how that becomes the entry it reports. Pure.

It joins the work (what is desired), what was seen, the drift found so far and the last step's outcome.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.decide.decision import Comparison, Decision, Outcome, Seen
from agent.decide.jobs import FOREGROUND, NEWER_EPOCH
from agent.objects import comparing, drift, status
from agent.objects.facts import (
    Object,
    epoch_of,
    generation_of,
    incarnation_of,
    is_deleting,
    is_newer,
    is_of_job,
    is_unstarted,
    outdated,
)
from agent.objects.failures import Failures
from agent.objects.holds import JOB, hold_of, is_job_work, job_name
from agent.objects.pods import JobPods
from agent.objects.reported import reported_status
from agent.objects.rules import AvailabilityRules
from agent.objects.verdict import UNKNOWN
from agent.works.backoff import wait_after
from shared.conditions import rfc3339
from shared.finalizers import finalizers_of
from shared.wire.agent_v1 import Drift, JobStatus, Observed, Work

_CALM_S = 120.0  # this long without drift ends a fight over a field
_LONGEST_FIGHT_S = 60.0


@dataclass(slots=True)
class TrackedWork:
    """One uid: a desired work, or an orphan that carries our labels (`work` None)."""

    uid: str
    work: Work | None = None
    seen: Seen = field(default_factory=Seen)
    rules: AvailabilityRules = field(default_factory=AvailabilityRules)  # the agent's
    busy: bool = False  # a step is under way
    tries: int = 0  # refusals in a row
    known_uid: str = ""  # of the object that was ours last
    gone_uid: str = ""  # of the last object that was seen deleted
    abandoned_uid: str = ""  # of the object that a step left to the member, or tried to
    since: float = 0.0  # monotonic instant at which `live` was last confirmed
    base: Object | None = None  # the manifest that the live object was applied from, if known
    last_job: JobStatus | None = None  # a terminal status outlives the object until acknowledged
    drifts: dict[str, Drift] = field(default_factory=dict)  # present now, by JSON pointer
    overwritten: dict[str, Drift] = field(default_factory=dict)  # mended, not yet reported
    stored: dict[str, Drift] = field(default_factory=dict)  # that the hub has stored last
    leave: list[drift.Path] = field(default_factory=list)  # drifted where the user allows it
    doubtful: bool = False  # our managed fields were wiped: a dry run must tell
    failed: tuple[int, str, str, str] = (0, "", "", "")  # of `JobPods`: outlasts the pods
    failures: Failures = field(default_factory=Failures)  # outlast the pods, too
    kept_until: float | None = None  # a failure of which not all is known is not told before then
    hint: tuple[str, str] = ("", "")  # why the Job's controller makes no pods, from Events
    written: Object | None = None  # of one that is left over: as its user may have written it
    namespace_id: str = ""  # … and of the hub's namespace that its own was created for
    last_look: tuple[Any, ...] = ()
    fights: int = 0
    last_fight: float = 0.0

    @property
    def is_job(self) -> bool:
        if self.work is not None:
            return is_job_work(self.work)
        return self.seen.live is not None and is_of_job(self.seen.live)

    @property
    def is_parent(self) -> bool:
        """Whether the object of its job is no Job, so that an operator makes the pods."""
        live = self.seen.live or {}
        key = live.get("apiVersion"), live.get("kind")
        if self.work is not None:
            key = self.work.api_version, self.work.kind
        return self.is_job and key != JOB

    def means(self, obj: Object, work: Work | None = None) -> bool:
        """True if the object is the one the work means: a copy of it under another name is not."""
        work = work or self.work
        if work is None:
            return True
        metadata = obj["metadata"]
        return (work.api_version, work.kind, work.namespace, work.name) == (
            obj.get("apiVersion"),
            obj.get("kind"),
            metadata.get("namespace") or "",
            metadata["name"],
        )

    def look_at(self, pods: JobPods | None) -> None:
        """Note how many pods of the job are left: of a Job of this name, copies have their own."""
        work = self.work
        at = (job_name(work), work.namespace) if work is not None else ()
        self.seen.pods = pods.left(*at, of_parent=self.is_parent) if pods is not None else 0
        if pods is not None and pods.failures is not self.failures:
            self.failures = pods.failures.after(self.failures)

    def account(self, now: float) -> float | None:
        """Until when the failure of a job that may be tried again waits for how its pods failed."""
        seen, manifest = self.seen, self.work.manifest if self.work is not None else None
        self.kept_until = self.failures.kept_until(seen.live, manifest, now, seen.failed_pods())
        return self.kept_until

    # --- changes ---------------------------------------------------------------------------------

    def desire(self, work: Work) -> None:
        """Take a new or changed work. A new epoch or manifest is tried again."""
        old = self.work
        self.work = work
        if old is None or old.epoch != work.epoch:
            self.seen.new_epoch(work.epoch)
            self.last_job = None
        if old is None or (old.epoch, old.hash, old.action) != (
            work.epoch,
            work.hash,
            work.action,
        ):
            self.forget_trouble()
            self.seen.compared_at = None
        before = work.action if old is None else old.action
        if before != work.action and "Compare" in {before, work.action}:
            self._found([], "")  # how it differs is not what has drifted since it was applied
        if (
            old is not None and old.epoch == work.epoch
        ):  # Keep and Withdraw come without a manifest
            work.manifest = old.manifest if work.manifest is None else work.manifest
            work.kind_rule = work.kind_rule or old.kind_rule
        self.seen.hold = hold_of(work)

    def forget_trouble(self) -> None:
        self.seen.trouble = None
        self.seen.not_before = 0.0
        self.tries = 0

    def is_here(self, live: Object, now: float) -> None:
        """The object is there, as the cache or our own write shows it."""
        held = self.seen.live
        uid = live["metadata"].get("uid")
        if uid == self.gone_uid or (uid == self.abandoned_uid and not self.known_uid):
            return  # overtaken by the event of its deletion, or by the answer that it is abandoned
        if is_deleting(live) and FOREGROUND in finalizers_of(live):
            # Also of an older state: the collector may be done before the deletion is answered.
            self.seen.foreground = live["metadata"].get("uid") or ""
        if held is not None and is_newer(held, live):
            return
        self.seen.live = live
        self.seen.vanished = False
        self.seen.absent_at = self.seen.podless_at = None
        self.since = now
        self.known_uid = live["metadata"].get("uid") or ""
        if self.work is not None and epoch_of(live) == self.work.epoch:
            self.seen.ever = self.seen.ever or not is_unstarted(live)
            if self.work.manifest is not None and not outdated(self.work, live):
                self.base = self.work.manifest

    def may_have_gone(self, obj: Object) -> bool:
        """True if the end of this object is news: it is not of another one, nor known by our own read."""
        live = self.seen.live
        same = live is not None and live["metadata"].get("uid") == obj["metadata"].get("uid")
        return self.is_job if live is None else same

    def went(self) -> None:
        """The object is not in the cache any more; who took it away is for `plan` to ask."""
        last = self.seen.live
        self.seen.live = None
        self.seen.compared_at = None
        if last is not None and is_deleting(last):
            self.gone_uid = last["metadata"].get("uid") or ""
        self.drifts.clear()
        self.leave.clear()
        if self.seen.trouble is not None:
            self.forget_trouble()
        self.seen.vanished = last is not None and not is_deleting(last) and self.is_job

    def close(self, phase: Literal["Gone", "Missing"]) -> None:
        """It was concluded that nothing of this epoch runs or can start: nothing of it is begun again."""
        self.seen.closed = phase

    # --- outcomes --------------------------------------------------------------------------------

    def settle(self, decision: Decision, outcome: Outcome, now: float) -> None:
        """Take in how a step ended."""
        seen = self.seen
        if outcome.live is not None:
            self.abandoned_uid = ""
            self.is_here(outcome.live, now)
        elif outcome.absent_at is not None:
            seen.live, seen.vanished = None, False
            seen.absent_at, seen.kept = outcome.absent_at, outcome.kept
            self.known_uid = "" if decision.do == "Abandon" else self.known_uid
        if outcome.podless_at is not None:
            self._is_podless(outcome.podless_at)
        if outcome.trouble is None:
            seen.trouble = None
            self.tries = 0
            if decision.do not in {"Apply", "PatchJob"}:
                seen.not_before = 0.0
            return
        self._refused(decision, outcome, now)

    def _is_podless(self, at: float) -> None:
        """A read that began at `at` found no pods: of a Job deleted before then, none will come."""
        seen = self.seen
        seen.podless_at = at
        live = seen.live
        if live is not None and is_deleting(live) and self.since <= at:
            seen.podless = live["metadata"].get("uid") or ""

    def _refused(self, decision: Decision, outcome: Outcome, now: float) -> None:
        trouble = outcome.trouble
        assert trouble is not None
        self.tries += 1
        self.seen.trouble = trouble
        self.seen.not_before = now + wait_after(trouble.reason, self.tries)

    # --- drift -----------------------------------------------------------------------------------

    def compare(self, now: dt.datetime) -> None:
        """Find what has drifted in the live object, and remember since when."""
        work, live = self.work, self.seen.live
        if work is None or work.manifest is None or live is None or is_deleting(live):
            if self.drifts or self.leave:
                self._found([], "")
            return
        if work.action == "Compare":
            self.seen.compared_at = None  # something has changed
            return
        if self.is_job and (is_unstarted(live) or not self._may_have_drifted(live)):
            return
        found, self.doubtful = comparing.drifted(work, live, self.base)
        self._found(found, rfc3339(now))

    def _may_have_drifted(self, job: Object) -> bool:
        """True if any compared part of a Job has changed since the last check."""
        # Most events of a Job are of its status; the API server counts changes of its spec.
        metadata = job["metadata"]
        look = (
            id(self.work),
            metadata.get("generation"),
            metadata.get("labels"),
            metadata.get("annotations"),
        )
        if look == self.last_look:
            return False
        self.last_look = look
        return True

    def settle_doubt(self, dry: Object | None, now: dt.datetime) -> None:
        """Keep of the suspected paths those that a forced apply would change."""
        self.doubtful = False
        work, live = self.work, self.seen.live
        if dry is None or work is None or work.manifest is None or live is None:
            return
        suspected = drift.compared(work.manifest, live)
        real = [d for d in suspected if not drift.same(drift.at(dry, d.path), d.member)]
        self._found(real, rfc3339(now))

    def _found(self, found: list[drift.Difference], now_text: str) -> None:
        work = self.work
        ignored = [] if work is None or work.kind_rule else work.ignore_drift  # sizes are reserved
        left = [d for d in found if drift.ignored(d.path, ignored)]
        self.leave = [d.path for d in left if d.hub is not drift.ABSENT]
        kept = [d for d in found if not drift.ignored(d.path, ignored)]
        self.seen.drifted = comparing.has_drifted(kept)
        self.seen.added = comparing.has_added(kept)
        if work is None or work.manifest is None:
            self.drifts = {}
        else:
            self.drifts = comparing.told(kept, work.manifest, self.drifts, now_text)

    def was_compared(
        self, found: list[drift.Difference], comparison: Comparison, at: float, now: dt.datetime
    ) -> None:
        """An object that is only compared was, at monotonic `at`."""
        self._found(found[: comparing.MOST], rfc3339(now))
        self.seen.compared_at, self.seen.comparison = at, comparison

    def fight_back(self, now: float) -> None:
        """Before overwriting drift: wait ever longer where the same object drifts again and again."""
        if now - self.last_fight > _CALM_S:
            self.fights = 0
        self.fights += 1
        self.last_fight = now
        if self.fights > 1:
            self.seen.not_before = now + min(_LONGEST_FIGHT_S, 2.0 ** min(self.fights - 2, 6))

    def mend(self) -> None:
        """Drift is about to be overwritten: if the hub has not stored it yet, it is still reported once."""
        self.overwritten |= {p: d for p, d in self.drifts.items() if self.stored.get(p) != d}

    def reported(self, entry: Observed) -> bool:
        """The hub has stored this entry; True if something may now be done or left out.

        That is: mended drift omitted from the next entry, an object released that ended or is forgotten.
        """
        ended = entry.phase in {"Gone", "Missing"} and bool(entry.object_uid)
        if ended:
            self.seen.acknowledged = entry.object_uid
        if entry.job is not None and entry.job.result is not None and entry.object_uid:
            ended = ended or self.seen.told != entry.object_uid
            self.seen.told = entry.object_uid
        if entry.reason == NEWER_EPOCH and self.seen.forgotten != entry.object_uid:
            self.seen.forgotten = entry.object_uid
            ended = True
        self.stored = {item.path: item for item in entry.drift}
        mended = bool(self.overwritten)
        for path in self.stored:
            self.overwritten.pop(path, None)
        return ended or mended

    # --- the entry -------------------------------------------------------------------------------

    def observed(self, decision: Decision, pods: JobPods | None) -> Observed:
        """The present report about this uid."""
        live, work = self.seen.live, self.work
        over = decision.phase in {"Gone", "Missing"}
        job = self._job_status(live, pods, over=over) if self.is_job else None
        drifts = {**self.overwritten, **self.drifts}
        told = self.rules.judge(live) if live is not None else UNKNOWN
        reason, message = decision.reason, decision.message
        is_newer_epoch = live is not None and reason == NEWER_EPOCH
        if decision.phase == "Applied" and not reason and not message and not self.is_job:
            reason, message = told.reason, told.message  # a Job's own words are in `job`
        return Observed(
            uid=self.uid,
            epoch=work.epoch if work is not None else epoch_of(live or {"metadata": {}}),
            generation=self._generation(decision),
            seq=0,
            phase=decision.phase,
            object_uid=(live["metadata"].get("uid") or "") if live is not None else "",
            reason=reason,
            message=message[: status.LONGEST_MESSAGE],
            job=job,
            available=told.available,
            member_generation=self._member_generation(live),
            drift=[drifts[path] for path in sorted(drifts)][:100],
            incarnation=incarnation_of(live) if work is None or is_newer_epoch else "",
            manifest=self.written if self.is_left_over() else None,
            namespace_id=self.namespace_id if self.is_left_over() else "",
            status=self._status(decision),
            unstarted=decision.unstarted,
            found_epoch=epoch_of(live or {"metadata": {}}) if is_newer_epoch else 0,
        )

    def _status(self, decision: Decision) -> Object | None:
        """The object's own status, if requested and desired."""
        live, work = self.seen.live, self.work
        if live is None or work is None or not work.report_status or decision.phase != "Applied":
            return None
        return reported_status(live)

    def _job_status(
        self, live: Object | None, pods: JobPods | None, *, over: bool
    ) -> JobStatus | None:
        """The Job's own status. `over`: no pod of it is left, so its counts are the last ones."""
        if live is None or (self.work is not None and epoch_of(live) < self.work.epoch):
            return self.last_job
        if pods is not None:
            self.failed = max(self.failed, pods.failed)
        epoch, _, failure, pod = self.failed
        told = status.status_of(
            live, pods, self.work, self.seen.hold, self.seen.reading, over=over,
            failure=status.failure_of(live, failure, pod) if epoch == epoch_of(live) else "",
            failures=self.failures.told(epoch_of(live)), kept_back=self.kept_until is not None,
        )  # fmt: skip
        if told.result is None and not told.reason and not told.active:
            told.reason, told.message = self.hint
        if told.result is not None and (self.work is None or epoch_of(live) == self.work.epoch):
            self.last_job = told
        return told

    def is_left_over(self) -> bool:
        """True if it is a Job that the hub has had left alone, for a person to decide about."""
        live = self.seen.live
        left = self.work is None and live is not None and self.is_job
        return left and (live or {})["metadata"].get("uid") == self.seen.left

    def _member_generation(self, live: Object | None) -> int:
        if self.work is not None and self.work.action == "Compare":
            return self.seen.comparison.generation
        return (live["metadata"].get("generation") or 0) if live else 0

    def _generation(self, decision: Decision) -> int:
        wanted = self.work.generation if self.work is not None else 0
        if self.seen.live is None or (self.work is not None and self.work.action == "Compare"):
            return wanted
        if decision.phase in {"Failed", "Waiting"} and not self.is_job:
            return wanted
        return generation_of(self.seen.live, wanted)

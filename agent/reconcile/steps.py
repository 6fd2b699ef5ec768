"""Executes one decided step if it is still allowed: checks the lease right before each start."""

from collections.abc import Callable
from typing import Final

from agent.decide.decision import Decision, Outcome, Seen, Trouble
from agent.decide.member_policy import MemberPolicy, names_another
from agent.decide.plain_objects import is_another
from agent.member.applier import Applier
from agent.member.create_answers import Creates
from agent.member.namespace_watch import NamespaceWatch
from agent.member.rights import Rights, kind_forbidden
from agent.metrics import Meters
from agent.objects.facts import has_our_fields, never_ran
from agent.objects.holds import JOB, job_name
from agent.objects.manifests import as_written, with_hostnames
from agent.works.lease import Lease
from agent.works.marks import Marks
from agent.works.tracked import TrackedWork
from shared import labels
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.wire.agent_v1 import Work

# Steps that use the manifest. The others know the object by the work, or by what was seen of it.
_OF_MANIFEST: Final = frozenset({"Compare", "Create", "Apply", "Start", "PatchJob", "Nothing"})

_TAKES_AWAY: Final = frozenset(
    {
        "Delete",
        "DeleteNamespace",
        "Release",
        "CountPods",
        "Abandon",
        "MarkWaiting",
        "DeleteWaiting",
    }
)


class Steps:
    """From a decision to the request that it means. `rights`: None leaves refused creates unexplained.

    `hostname_of`: the hostname label of a node, by its name.
    """

    def __init__(
        self,
        applier: Applier,
        lease: Lease,
        clock: Clock,
        meters: Meters,
        marks: Marks,
        policy: MemberPolicy,
        watch: NamespaceWatch,
        rights: Rights | None = None,
        hostname_of: Callable[[str], str] = str,
    ) -> None:
        self._applier = applier
        self._lease = lease
        self._clock = clock
        self._meters = meters
        self._marks = marks
        self._policy = policy
        self._watch = watch
        self._rights = rights
        self._hostname_of = hostname_of
        self.creates = Creates(clock)

    async def carry_out(self, tracked: TrackedWork, decision: Decision) -> Outcome:
        """Do what was decided; an empty outcome where that has lost its object or its right."""
        outcome = await self._outcome_of(tracked, decision)
        if decision.do == "Start":  # refused before its request was sent, it starts nothing
            tracked.seen.started = tracked.seen.asked
        return outcome

    async def _outcome_of(self, tracked: TrackedWork, decision: Decision) -> Outcome:
        if self._lease.revoked:
            return Outcome()
        failpoint("A05")
        self._meters.steps.labels(decision.do).inc()
        if (refusal := _misnamed(tracked, decision)) is not None:
            return Outcome(trouble=refusal)
        if decision.do in _TAKES_AWAY:
            return await self._take_away(tracked, decision)
        if decision.do == "Compare" and tracked.work is not None:
            return await self._compare(tracked, tracked.work)
        if tracked.work is None:
            return await self._read_left_over(tracked)
        if decision.do == "ReadBack":
            return await self._applier.read_back(tracked.work, tracked.known_uid)
        refusal = self._policy.refuse(tracked.work, decision.do)
        refusal = refusal or await self._watch.refuse(tracked.work, decision.do)
        if refusal is not None:
            return Outcome(trouble=refusal)
        if decision.do in {"Start", "PatchJob"}:  # Jobs that exist are never changed by this
            return await self._write(tracked, tracked.work, decision)
        return await self._write(tracked, await self._watch.bounded(tracked.work), decision)

    async def _take_away(self, tracked: TrackedWork, decision: Decision) -> Outcome:
        if decision.do == "CountPods":
            return await self._count_pods(tracked)
        if decision.do == "Abandon":
            return await self._abandon(tracked)
        return await self._let_go(tracked, decision)

    async def _abandon(self, tracked: TrackedWork) -> Outcome:
        if tracked.work is not None:
            tracked.abandoned_uid = tracked.known_uid  # also if its answer is lost
            return await self._applier.abandon(tracked.work, tracked.known_uid)
        if tracked.seen.live is None:
            return Outcome()
        return await self._applier.abandon_orphan(tracked.seen.live, tracked.uid)

    async def _compare(self, tracked: TrackedWork, work: Work) -> Outcome:
        told = await self._applier.compare(work)
        if told.trouble is None and tracked.work is work:
            now = self._clock
            tracked.was_compared(told.found, told.comparison, now.monotonic(), now.now())
        return Outcome(trouble=told.trouble)

    async def _read_left_over(self, tracked: TrackedWork) -> Outcome:
        """The watched copy has no pod template: the whole Job is read, for adoption."""
        if tracked.is_left_over() and tracked.seen.live is not None:
            whole = await self._applier.read(tracked.seen.live)
            if whole is None or not has_our_fields(whole):
                return Outcome()  # people may write labels of a Job: such values are not reported
            notes = whole["metadata"].get("annotations") or {}
            tracked.written = as_written(whole)
            tracked.namespace_id = str(notes.get(labels.NAMESPACE_ID) or "")
        return Outcome()

    async def _let_go(self, tracked: TrackedWork, decision: Decision) -> Outcome:
        live, work = tracked.seen.live, tracked.work
        if live is None or (work is not None and is_another(work, live)):
            return Outcome()
        if decision.do in {"Release", "MarkWaiting"}:
            outcome = await self._applier.release(live, decision.patch)
            return await self._named(tracked.work, outcome)
        if decision.do == "DeleteNamespace":
            may_delete = self._policy.profile != "jobs"
            return await self._applier.delete_namespace(live, may_delete=may_delete)
        if decision.do == "DeleteWaiting" and not never_ran(live, tracked.seen.hold):
            return Outcome()  # it is another version by now
        return await self._applier.delete(live, decision.propagation, strict=True)

    async def _count_pods(self, tracked: TrackedWork) -> Outcome:
        live, work = tracked.seen.live, tracked.work
        if work is not None:
            kind = work.api_version, work.kind
            parent = None if kind == JOB else kind
            at = work.namespace, work.uid, job_name(work)
            return await self._applier.count_pods(*at, parent=parent)
        if live is None:
            return Outcome()
        kind = live["apiVersion"], live["kind"]
        where = live["metadata"].get("namespace") or ""
        parent = None if kind == JOB else kind
        return await self._applier.count_pods(where, tracked.uid, parent=parent)

    async def _write(self, tracked: TrackedWork, work: Work, decision: Decision) -> Outcome:
        live = tracked.seen.live
        match decision.do:
            case "Create":
                return await self._create(work)
            case "Start":
                left = self._lease.left(self._clock.monotonic())
                if left <= 0:
                    return Outcome()
                return await self._start(tracked.seen, work, decision, left)
            case "PatchJob":
                return await self._named(work, await self._applier.patch_job(work, decision.patch))
            case "Apply":
                # Of an object that we may have left to the member, the marks alone prove that it is ours.
                known = tracked.known_uid if tracked.known_uid != tracked.abandoned_uid else ""
                return await self._applier.apply(work, live, known, tracked.leave)
        if live is not None and tracked.doubtful:
            tracked.settle_doubt(await self._applier.dry_run(work, live), self._clock.now())
        return Outcome()

    async def _create(self, work: Work) -> Outcome:
        is_job = (work.api_version, work.kind) == JOB
        rights = self._rights if is_job else None
        if rights is not None and (refusal := rights.refusal(work)) is not None:
            return Outcome(trouble=refusal)
        make = not self._watch.places(work.namespace)
        named = with_hostnames(work, self._hostname_of)
        create = self._applier.create(named, make_namespace=make, mark=self._marks.text)
        outcome = await self.creates.count(create)
        if not is_job:
            return kind_forbidden(work, outcome)
        return outcome if rights is None else await rights.judge(work, outcome)

    async def _named(self, work: Work | None, outcome: Outcome) -> Outcome:
        """A refused patch of a Job says which right is missing, if one is."""
        if self._rights is None or work is None or (work.api_version, work.kind) != JOB:
            return outcome
        return await self._rights.judge_patch(work, outcome)

    async def _start(self, seen: Seen, work: Work, decision: Decision, left: float) -> Outcome:
        """Ask for the start. Until it is answered, and without an answer, it may take effect."""
        others_refused = seen.refused or not seen.asked
        seen.asked, seen.refused = True, False
        outcome = await self._named(work, await self._applier.start(work, decision.patch, left))
        seen.refused = others_refused and outcome.refused
        return outcome


def _misnamed(tracked: TrackedWork, decision: Decision) -> Trouble | None:
    """Refuse a step that would use the manifest of another object than the work's."""
    if tracked.work is None or decision.do not in _OF_MANIFEST:
        return None
    return names_another(tracked.work)

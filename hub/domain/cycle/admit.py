"""Step 5 of a round: each head in its turn, against what the earlier ones took (docs/explain/queueing.md)."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Fleet, Nominator, Rules
from hub.domain.cycle.attempt import Attempt
from hub.domain.plan import Assignment, Reason
from hub.domain.preemption.search import Cause
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, Overlay, QuotaState


class RoundState:
    """The takings of a round's heads so far, on one state of quota; `admit` is called in their order."""

    def __init__(
        self, quota_state: QuotaState, fleet: Fleet | None, nominator: Nominator, rules: Rules
    ) -> None:
        self._quota_state = quota_state
        self._fleet = fleet
        self._nominator = nominator
        self._block_admission = rules.block_admission
        self._claimed: dict[str, AdmittedWorkload] = {}  # victims of earlier heads
        self._after: Overlay | None = None  # with those gone; None while there is no entry
        self._taken: list[tuple[str, Usage]] = []
        held = quota_state.all_holders() if rules.block_admission else ()
        self._blocked = any(not h.pods_ready for h in held)

    def admit(self, attempt: Attempt) -> None:
        """A head in its turn: it is admitted, or preempts, or one of the marks says why not."""
        if self._overlaps(attempt) and self._reconsider(attempt):
            return
        mode = attempt.search.mode
        if mode is Mode.NO_FIT or attempt.search.assignment is None:
            attempt.mark_unfit()
        elif attempt.nominee.awaits_room:
            self._await_room(attempt)
        elif mode is not Mode.FIT and not attempt.victims:
            self._reserve(attempt)
            attempt.mark_without_candidates()
        elif mode is not Mode.FIT and attempt.who.gated:
            attempt.mark_gated()
        elif not self._still_fits(attempt):
            message = "no longer fits after another workload"
            attempt.mark_skipped(Reason.WAITING_FOR_QUOTA, message)
        elif mode is Mode.FIT:
            self._assume(attempt)
        else:
            self._preempt(attempt)

    def stand_by(self, waiting: Iterable[Attempt]) -> None:
        """A preemptor of an earlier round: it takes the same as then, and its victims count as gone."""
        for attempt in waiting:
            self._take(attempt.who.queue, attempt.search.assignment)
            self._let_go({v.holder.uid: v.holder for v in attempt.victims})

    def give_back(self) -> None:
        """The round is over: what its heads took is charged no longer."""
        for queue, usage in self._taken:
            self._quota_state.tree.release(queue, usage)

    def _overlaps(self, attempt: Attempt) -> bool:
        return any(v.holder.uid in self._claimed for v in attempt.victims)

    def _reconsider(self, attempt: Attempt) -> bool:
        """Its victims are another's already: what could it get once those are gone?

        True where it would fit then: it waits for them, before everything else in its queue, and what
        it asks for is kept for it meanwhile. Otherwise it continues with other victims, or with none.
        """
        shared = tuple(v.holder for v in attempt.victims if v.holder.uid in self._claimed)
        with self._afterwards():
            keep, gone = attempt.search.assignment, list(self._claimed.values())
            attempt.nominee = self._nominator.nominate(attempt.who, keep=keep, gone=gone)
        if attempt.search.mode is not Mode.FIT:
            return False
        self._take(attempt.who.queue, attempt.search.assignment)
        self._claim(attempt, self._claimed.values())
        attempt.mark_awaiting(shared)
        return True

    def _still_fits(self, attempt: Attempt) -> bool:
        quota_state = self._quota_state
        with self._afterwards(), quota_state.without(v.holder for v in attempt.victims):
            return quota_state.tree.fits(quota_state.node(attempt.who.queue), attempt.usage)

    def _afterwards(self) -> AbstractContextManager[None]:
        """As it will be once the victims of earlier heads are gone."""
        return nullcontext() if self._after is None else self._quota_state.seen_as(self._after)

    def _take(self, queue: str, assignment: Assignment | None) -> None:
        if assignment is not None:
            self._charge(queue, assignment.charge)

    def _charge(self, queue: str, usage: Usage) -> None:
        self._quota_state.tree.charge(queue, usage)
        if self._after is not None:
            with self._afterwards():
                self._quota_state.tree.charge(queue, usage)
        self._taken.append((queue, usage))

    def _reserve(self, attempt: Attempt) -> None:
        """Keep what it waits for from borrowers, unless it can always take it back."""
        queue = attempt.who.queue
        if self._quota_state.policies[queue].reclaim == "Any":
            return
        self._charge(queue, {of: self._reserved(attempt, of) for of in attempt.usage})

    def _reserved(self, attempt: Attempt, of: FlavorResource) -> int:
        node = self._quota_state.node(attempt.who.queue)
        asked, used = attempt.usage[of], self._quota_state.tree.used_of(node, of)
        most = node.nominal(of)
        if attempt.search.borrowing > 0:
            limit = node.limits.get(of)
            if limit is None:
                return asked
            most += limit
        return max(0, min(asked, most - used))

    def _assume(self, attempt: Attempt) -> None:
        if self._blocked:
            attempt.mark_blocked()
        elif not self._place(attempt):
            attempt.mark_skipped(Reason.NO_CLUSTER_FITS, "no cluster can hold it any more")
        else:
            self._take(attempt.who.queue, attempt.search.assignment)
            self._blocked = self._block_admission
            attempt.mark_admitted()

    def _preempt(self, attempt: Attempt) -> None:
        own = {v.holder.uid: v.holder for v in attempt.victims}
        gone: Iterable[AdmittedWorkload] = own.values()  # for room: they run where it will run
        if attempt.victims[0].cause is not Cause.FOR_ROOM:
            gone = chain(gone, (h for uid, h in self._claimed.items() if uid not in own))
        if not self._claim(attempt, gone):  # no victim is evicted in vain
            message = "no cluster can hold it after another workload"
            attempt.mark_skipped(Reason.NO_CLUSTER_FITS, message)
            return
        self._take(attempt.who.queue, attempt.search.assignment)
        self._let_go(own)
        attempt.mark_preempting()

    def _await_room(self, attempt: Attempt) -> None:
        """Its victims are gone, and no report shows that yet: it keeps its quota, else they take it back."""
        if not self._still_fits(attempt):
            message = "no longer fits after another workload"
            attempt.mark_skipped(Reason.WAITING_FOR_QUOTA, message)
            return
        self._claim(attempt, ())
        self._take(attempt.who.queue, attempt.search.assignment)
        attempt.mark_awaiting((), attempt.search.message)

    def _let_go(self, victims: Mapping[str, AdmittedWorkload]) -> None:
        """Later turns are judged as if these victims were gone. By uid."""
        if not victims:
            return
        self._claimed.update(victims)
        if self._after is None:
            self._after = self._quota_state.apart()
        with self._afterwards():
            for holder in victims.values():
                if self._quota_state.holds(holder):
                    self._quota_state.remove(holder)

    def _place(self, attempt: Attempt) -> bool:
        """Room on a cluster for what fits under quota; without clusters there is nothing to find."""
        if self._fleet is None or attempt.who.quota_only or attempt.search.assignment is None:
            return True
        attempt.cluster = self._fleet.place(attempt.who, attempt.search.assignment)
        return attempt.cluster is not None

    def _claim(self, attempt: Attempt, gone: Iterable[AdmittedWorkload]) -> bool:
        """The cluster on which it fits once its victims are gone, and a claim to its room; False if none."""
        if self._fleet is None or attempt.who.quota_only or attempt.search.assignment is None:
            return True
        attempt.cluster = self._fleet.claim(attempt.who, attempt.search.assignment, list(gone))
        return attempt.cluster is not None

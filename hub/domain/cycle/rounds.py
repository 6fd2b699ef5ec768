"""Rounds: Kueue's cycle on records, one head per ClusterQueue. Read this after `cycle`.

`run` is the recipe: heads, snapshot, nominate, order, admit, requeue. A victim holds its quota until it is
gone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from hub.domain.admission.flavor_assigner import Tried
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.admission.head_order import by_share, in_order
from hub.domain.admission.nomination import Fleet, Nominator, Rules
from hub.domain.cycle.admit import RoundState
from hub.domain.cycle.attempt import Attempt
from hub.domain.queueing import eligibility, requeue
from hub.domain.queueing.lane_queue import Turns
from hub.domain.queueing.requeue import Outcome
from hub.domain.quota.holders import PendingWorkload, QuotaState


class Rounds:
    """Queues between rounds. `quota_state` changes as workloads are admitted and told to go."""

    def __init__(
        self,
        quota_state: QuotaState,
        lines: Mapping[str, Turns],
        catalog: FlavorCatalog,
        rules: Rules = Rules(),  # noqa: B008 - frozen
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        fleet: Fleet | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
        preempted: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """`preempted`: uid of who waits → its victims until now."""
        self.quota_state = quota_state
        self.lines = lines
        self.rules = rules
        self._namespaces = namespaces or {}
        self._fleet = fleet
        self._nominator = Nominator(quota_state, catalog, rules, fleet, groups)
        self._tried: dict[str, Tried] = {}  # uid → position where its search for flavors continues
        self._waiting: dict[str, Attempt] = {}  # by queue: its head, if that waits for victims
        self._preempted = {uid: set(victims) for uid, victims in (preempted or {}).items()}
        self._nominator.preempted = self._preempted

    def run(self, now: int) -> list[Attempt]:
        """One round; an attempt for each head, in the order in which they were processed."""
        self._nominator.now = now
        heads = self.heads()
        state = self.snapshot()
        attempts, refused = self.nominate(heads)
        state.stand_by(self._waiting.values())
        processed = []
        for attempt in self.order(attempts):
            self.admit(attempt, state)
            processed.append(attempt)
        state.give_back()
        for attempt in (*processed, *refused):
            self.requeue(attempt, now)
        return [*processed, *refused]

    def begin_anew(self) -> None:
        """A workload has left, or time has passed: preemptors that wait for victims have a turn again."""
        self._waiting.clear()

    def heads(self) -> list[PendingWorkload]:
        """1. The head of each queue that has one, and that does not wait for its victims."""
        names = (name for name in sorted(self.lines) if name not in self._waiting)
        return [who for name in names if (who := self.lines[name].pop())]

    def snapshot(self) -> RoundState:
        """2. The present charges, to which each head adds its own until the round is over."""
        return RoundState(self.quota_state, self._fleet, self._nominator, self.rules)

    def nominate(self, heads: Iterable[PendingWorkload]) -> tuple[list[Attempt], list[Attempt]]:
        """3. Possible assignments of heads with their costs; separately, heads that get nothing."""
        attempts = [self.attempt(who) for who in heads]
        return [a for a in attempts if a.outcome is None], [a for a in attempts if a.outcome]

    def order(self, attempts: list[Attempt]) -> Iterator[Attempt]:
        """4. Heads in the order in which they are processed."""
        first = self.rules.preemptors_first
        if self.rules.fair:
            return by_share(self.quota_state, attempts, preemptors_first=first)
        return iter(in_order(attempts, preemptors_first=first))

    def admit(self, attempt: Attempt, state: RoundState) -> None:
        """5. A head in its turn, against what earlier ones took."""
        state.admit(attempt)

    def requeue(self, attempt: Attempt, now: int) -> None:
        """6. Its next waiting place; once admitted it holds quota."""
        who, line = attempt.who, self.lines[attempt.who.queue]
        if attempt.outcome is None:
            self._tried.pop(who.uid, None)
            self._preempted.pop(who.uid, None)
            self.quota_state.add(attempt.as_holder(now))
            return
        if attempt.outcome is Outcome.PENDING_PREEMPTION:
            self._tried.pop(who.uid, None)  # once there is room all flavors are tried
            told = self._preempted.setdefault(who.uid, set())
            for victim in attempt.victims:
                told.update(() if victim.holder.evicted else (victim.holder.uid,))
                self.quota_state.mark_evicted(victim.holder)
            self._waiting[who.queue] = attempt
        elif attempt.outcome is Outcome.GATED:
            self._tried.pop(who.uid, None)  # it did not fail on its flavors
        elif attempt.search.tried:  # also of a head that lost a race: it continues from there
            self._tried[who.uid] = attempt.search.tried
        else:  # no flavor from there on: its next turn starts the scan over, as in Kueue
            attempt.starts_over = self._tried.pop(who.uid, None) is not None
        strict = line.queue.strict
        untried = who.uid in self._tried and attempt.search.untried_flavors
        attempt.where = requeue.where_next(attempt.outcome, strict=strict, untried_flavors=untried)
        sticky = requeue.is_sticky(attempt.outcome, strict=strict)
        line.put_back(who, attempt.where, sticky=sticky)

    def attempt(self, who: PendingWorkload) -> Attempt:
        """The possible assignment of one head; its attempt has ended if it gets nothing."""
        hold = eligibility.inadmissible(who, self.quota_state.queues[who.queue], self._namespaces)
        if hold is None:
            return Attempt(who, self._nominator.nominate(who, self._tried.get(who.uid, ())))
        attempt = Attempt(who)
        attempt.mark_inadmissible(hold)
        return attempt

    def may_change(self, attempt: Attempt) -> bool:
        """Might what was refused be given now? Otherwise its turn would end as before."""
        return self._nominator.may_change(attempt.who, attempt.search)

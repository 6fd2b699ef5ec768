"""Preemption under fair sharing: preempt the queue furthest beyond its share (Kueue's KEP-1714).

The preemptor's usage counts during the whole computation. A victim is accepted by comparing the
shares of the two children of the lowest common cohort; the comparison is made again once victims
that were not needed have been given back, so that no two workloads evict each other in turn.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from hub.domain.preemption.search import Cause, Contest, Removals, Victim, removals
from hub.domain.quota.dominant_share import Share, dominance, dominant_share
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.queue_policy import NEVER
from hub.domain.quota.tree import Node

FINAL_SHARE: Final = "LessThanOrEqualToFinalShare"  # Kueue's rule S2-a
INITIAL_SHARE: Final = "LessThanInitialShare"  # Kueue's rule S2-b
DEFAULT_STRATEGIES: Final = (FINAL_SHARE, INITIAL_SHARE)


def find_fair_victims(
    contest: Contest, strategies: Sequence[str] = DEFAULT_STRATEGIES
) -> list[Victim]:
    """A minimal set of victims that fair sharing allows; [] if there is none."""
    candidates = _candidates(contest)
    if not candidates:
        return []
    with removals(contest) as tried:
        scan = _Scan(contest, tried)
        if not scan.first(candidates, strategies[0]) and not (
            len(strategies) > 1 and scan.second()
        ):
            return []
        taken = list(tried.taken)
        found = tried.fill_back(borrowing=True)
        if not scan.is_fair(found):
            tried.take_again(taken)
            found = tried.fill_back(borrowing=True)
            if not scan.is_fair(found):
                return []
        return found if contest.within_budget(found) else []


_Listed = dict[str, list[AdmittedWorkload]]


def _candidates(contest: Contest) -> _Listed:
    """Its own queue's under withinClusterQueue, and those of every other queue that borrows.

    By queue, the last of each list goes first.
    """
    found: _Listed = {}

    def look_at(queue: str, policy: str) -> None:
        listed = [holder for _, holder in reversed(contest.in_order(queue, policy))]
        if listed:
            found[queue] = listed

    node, reclaim = contest.node, contest.policy.reclaim
    if contest.policy.within != NEVER:
        look_at(node.name, contest.policy.within)
    if node.parent is None or reclaim == NEVER:
        return found
    tree, inactive = contest.quota_state.tree, contest.quota_state.inactive
    for queue in node.root().queues():
        if queue is node or queue.name in inactive:
            continue
        if not tree.within(queue, contest.contested):
            look_at(queue.name, reclaim)
    return found


class _Scan:
    """Choosing victims one by one, with the preemptor's usage charged meanwhile."""

    def __init__(self, contest: Contest, tried: Removals) -> None:
        self._contest = contest
        self._tree = contest.quota_state.tree
        self._tried = tried
        self._retry: _Listed = {}
        self._sides = contest.node.chain[:-1]  # all on our side that have a share
        self._before = [self._share(node) for node in self._sides]

    def first(self, candidates: _Listed, strategy: str) -> bool:
        """Choose the queue again after each victim; candidates that the strategy rejects may be retried."""
        contest = self._contest
        with self._tree.with_charge(contest.who.queue, contest.usage):
            targets = _Targets(contest, candidates)
            entitled = self._is_within_nominal()
            while (queue := targets.next()) is not None:
                if queue is contest.node:
                    if self._take(targets.pop(queue), Cause.IN_QUEUE):
                        return True
                elif entitled:
                    if self._take(targets.pop(queue), Cause.RECLAMATION):
                        return True
                elif self._take_by_share(targets, queue, strategy):
                    return True
        return False

    def _take_by_share(self, targets: "_Targets", queue: Node, strategy: str) -> bool:
        ours, theirs = _below_common(self._contest.node, queue)
        new, old = self._share(ours), self._share(theirs)
        while targets.has(queue):
            holder = targets.pop(queue)
            if strategy == INITIAL_SHARE:
                accepted = new < old
            else:
                with self._contest.quota_state.without([holder]):
                    accepted = new <= self._share(theirs)
            if accepted:
                return self._take(holder, Cause.FAIR_SHARING)  # then perhaps another queue is next
            self._retry.setdefault(holder.queue, []).append(holder)
        return False

    def second(self) -> bool:
        """Candidates that the first strategy rejected, under LessThanInitialShare; at most one per queue."""
        contest = self._contest
        with self._tree.with_charge(contest.who.queue, contest.usage):
            targets = _Targets(contest, {q: those[::-1] for q, those in self._retry.items()})
            while (queue := targets.next()) is not None:
                if queue is not contest.node:
                    ours, theirs = _below_common(contest.node, queue)
                    if self._share(ours) < self._share(theirs):
                        holder = targets.pop(queue)
                        if self._take(holder, Cause.FAIR_SHARING):
                            return True
                targets.drop(queue)
        return False

    def _take(self, holder: AdmittedWorkload, cause: Cause) -> bool:
        """Take one more; does the request fit now (its own usage set aside)?"""
        contest = self._contest
        self._tried.take(Victim(holder, cause))
        self._tree.release(contest.who.queue, contest.usage)
        fits = contest.fits(self._tried.gone)
        self._tree.charge(contest.who.queue, contest.usage)
        return fits

    def _is_within_nominal(self) -> bool:
        node = self._contest.node
        return all(
            self._tree.used_of(node, of) <= node.nominal(of) for of in self._contest.contested
        )

    def _share(self, node: Node) -> Share:
        return dominant_share(self._tree, node)

    def is_fair(self, victims: Sequence[Victim]) -> bool:
        """True if no other queue could evict the preemptor in return.

        A victim that comes back, and whose queue may reclaim from the preemptor, must not have less of
        a share than the preemptor has then; and who goes for an equal of its own queue, where any other
        may reclaim, must leave no greater share to its side than there was. So workloads do not evict
        each other in turn, whichever strategies had accepted them. If no queue could answer an eviction,
        the strategies alone decide.
        """
        contest = self._contest
        with self._tree.with_charge(contest.who.queue, contest.usage):
            if not all(
                self._still_fair(v.holder)
                for v in victims
                if v.cause is Cause.FAIR_SHARING and self._may_answer(v.holder)
            ):
                return False
            equals = self._others_reclaim() and any(
                v.cause is Cause.IN_QUEUE and v.holder.priority >= contest.who.priority
                for v in victims
            )
            now = [self._share(node) for node in self._sides] if equals else self._before
            return all(new <= old for new, old in zip(now, self._before, strict=True))

    def _may_answer(self, holder: AdmittedWorkload) -> bool:
        """May a victim, once it waits, reclaim from the preemptor, shares aside?"""
        reclaim = self._contest.quota_state.policies[holder.queue].reclaim
        return reclaim != NEVER and (
            reclaim != "LowerPriority" or self._contest.who.priority < holder.priority
        )

    def _others_reclaim(self) -> bool:
        """Does any other queue of the tree reclaim?"""
        quota_state, own = self._contest.quota_state, self._contest.node
        return any(
            quota_state.policies[queue.name].reclaim != NEVER
            for queue in (own.root().queues() if own.parent else ())
            if queue is not own
        )

    def _still_fair(self, holder: AdmittedWorkload) -> bool:
        ours, theirs = _below_common(
            self._contest.node, self._contest.quota_state.node(holder.queue)
        )
        new = self._share(ours)
        with self._tree.with_charge(holder.queue, holder.usage):
            return new <= self._share(theirs)


class _Targets:
    """The queue that loses the next workload: the highest share at each cohort, from the root down."""

    def __init__(self, contest: Contest, candidates: _Listed) -> None:
        self._contest = contest
        self._tree = contest.quota_state.tree
        self._own_path = {id(contest.node), *map(id, contest.node.path())}
        self._left = candidates
        self._pruned: set[int] = set()

    def has(self, queue: Node) -> bool:
        return bool(self._left.get(queue.name))

    def pop(self, queue: Node) -> AdmittedWorkload:
        return self._left[queue.name].pop()

    def drop(self, queue: Node) -> None:
        self._left.pop(queue.name, None)

    def next(self) -> Node | None:
        """The queue to take from; None when nothing is left to take."""
        own = self._contest.node
        if own.parent is None:
            return own if self.has(own) else None
        root = own.root()
        while id(root) not in self._pruned:
            found = self._descend(root)
            if found is not None:
                return found
        return None

    def _descend(self, cohort: Node) -> Node | None:
        best: Node | None = None
        best_share: Share | None = None
        for child, share in self._worth_taking_from(cohort):
            if best is None or best_share is None or share > best_share:
                best, best_share = child, share
            elif share == best_share and self._wins_tie(child, best):
                best = child
        if best is None:
            self._pruned.add(id(cohort))
            return None
        return best if best.is_queue else self._descend(best)

    def _worth_taking_from(self, cohort: Node) -> Iterator[tuple[Node, Share]]:
        for child in cohort.children:
            if id(child) in self._pruned:
                continue
            share, borrows = dominance(self._tree, child)
            spared = not borrows and id(child) not in self._own_path
            if spared or (child.is_queue and not self.has(child)):
                self._pruned.add(id(child))
            else:
                yield child, share

    def _wins_tie(self, child: Node, best: Node) -> bool:
        """A cohort wins against a queue; of two queues the one whose first candidate sorts first."""
        if child.is_queue != best.is_queue:
            return best.is_queue
        if not child.is_queue:
            return False
        order = self._contest.order
        first, other = self._left[child.name][-1], self._left[best.name][-1]
        return order(first) < order(other)


def _below_common(ours: Node, theirs: Node) -> tuple[Node, Node]:
    """The two children of the lowest common cohort, on our side and on theirs."""
    above = {id(ours): ours}
    child = ours
    for cohort in ours.path():
        above[id(cohort)] = child  # the child of `cohort` on our side
        child = cohort
    side = theirs
    for cohort in theirs.path():
        if id(cohort) in above:
            return above[id(cohort)], side
        side = cohort
    raise AssertionError("queues of different trees do not compete")

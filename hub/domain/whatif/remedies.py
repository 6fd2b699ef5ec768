"""Remedies for a waiting workload: differences with which the engine itself would admit it.

Each `Remedy` was tried on a `Trial`: the cycle's own search said yes on a picture with that
difference, in full or, where `rest` says so, up to what else is missing. Nothing here is estimated.
More quota, other clusters and fewer pods are `supply_remedies`'s.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Nominee
from hub.domain.preemption.search import Victim
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.queue_policy import NEVER
from hub.domain.whatif import supply_remedies
from hub.domain.whatif.remedy import Remedy, RemedyKind
from hub.domain.whatif.trial import Trial, Variation

CANDIDATES: Final = 400  # holders looked at for what their end would free

Ends = Mapping[str, int]  # uid → when it is expected to end, microseconds since the epoch


def remedies(trial: Trial, ends: Ends) -> list[Remedy]:
    """The differences that would admit the workload, from settings to hardware."""
    found = trial.ask()
    if found.search.mode is Mode.FIT:
        return [Remedy(RemedyKind.TURN)]
    if found.victims:
        return [_displacing(RemedyKind.PREEMPTION, found)]
    looked_for: list[Callable[[], Iterable[Remedy]]] = [
        lambda: _release(trial, found, ends),
        lambda: _priority(trial, found),
        lambda: _policy(trial),
        lambda: _limits(trial),
        lambda: supply_remedies.quota(trial, found),
        lambda: supply_remedies.borrowing(trial, found),
        lambda: supply_remedies.fleet(trial, found),
        lambda: supply_remedies.fewer_pods(trial),
    ]
    told = [remedy for look in looked_for if trial.may_ask for remedy in look()]
    return sorted(told, key=lambda remedy: bool(remedy.rest))  # first those that suffice


def by_flavor(trial: Trial) -> Iterator[tuple[str, Nominee]]:
    """The possible assignments of the workload for each flavor alone, in the queue's order."""
    for number, group in enumerate(trial.queue.groups):
        for flavor in group.flavors:
            if not trial.may_ask:
                return
            groups = list(trial.queue.groups)
            groups[number] = replace(group, flavors=(flavor,))
            yield flavor, trial.ask(Variation(queue=replace(trial.queue, groups=tuple(groups))))


def _displacing(kind: RemedyKind, found: Nominee, **told: object) -> Remedy:
    holders = tuple(v.holder for v in found.victims)
    return Remedy(kind, holders=holders, **told)  # type: ignore[arg-type]  # by its callers


# --- somebody ends --------------------------------------------------------------------------------


def _release(trial: Trial, found: Nominee, ends: Ends) -> Iterator[Remedy]:
    """The first to end, then the largest, until it fits; those that turn out not to be needed stay.

    Where quota was short, it will do that no more of it is, though clusters still are.
    """
    candidates = _candidates(trial, found, ends)
    said: list[str] = []

    def will_do(gone: Sequence[AdmittedWorkload]) -> bool:
        search = trial.ask(Variation(gone=gone)).search
        fleet_short = search.mode is Mode.NO_FIT and search.asks is not None
        if search.mode is not Mode.FIT and not (found.search.shortages and fleet_short):
            return False
        said[:] = [] if search.mode is Mode.FIT else [search.message]
        return True

    size = trial.least(len(candidates), lambda n: will_do(candidates[:n]))
    if size is None:
        return
    gone = _none_to_spare(trial, candidates[:size], will_do)
    yield Remedy(RemedyKind.RELEASE, _usage_of(gone, found), tuple(gone), rest="".join(said))


def _none_to_spare(
    trial: Trial,
    gone: list[AdmittedWorkload],
    will_do: Callable[[Sequence[AdmittedWorkload]], bool],
) -> list[AdmittedWorkload]:
    """The necessary ones, tried by leaving out the later ones first.

    Until no more can be: of pod sets that fill nodes one after another, fewer gone may do where more did not.
    """
    before = 0
    while before != len(gone):
        before = len(gone)
        for holder in list(reversed(gone)):
            if not trial.may_ask:
                return gone
            fewer = [h for h in gone if h is not holder]
            if fewer and will_do(fewer):
                gone = fewer
    return gone


def _candidates(trial: Trial, found: Nominee, ends: Ends) -> list[AdmittedWorkload]:
    """Candidates whose end might help: holders of the missing quota; else those on the nearest cluster."""
    quota_state = trial.quota_state
    contested = {s.of for s in found.search.shortages}
    nearest = trial.none.nearest if trial.none else None
    if contested:
        root = quota_state.node(trial.who.queue).root()
        names = [root.name] if root.is_queue else [n.name for n in root.queues()]
        held = [h for name in names for h in quota_state.holders(name) if h.uses(contested)]
    else:
        held = [h for h in quota_state.all_holders() if h.cluster]
        if nearest is not None:
            held = [h for h in held if h.cluster == nearest.cluster]

    def amount(holder: AdmittedWorkload) -> int:
        if contested:
            return sum(holder.usage.get(of, 0) for of in contested)
        return _taken(holder, nearest.missing if nearest else {})

    own = trial.who.queue
    far = 1 << 62
    held.sort(
        key=lambda h: (
            not h.evicted, ends.get(h.uid, far), h.queue != own, -amount(h), *h.identity,
        )
    )  # fmt: skip
    return held[:CANDIDATES]


def _taken(holder: AdmittedWorkload, of: Mapping[str, int]) -> int:
    return sum(
        requests.get(r, 0) * count for requests, _, count in holder.pods for r in of or requests
    )


def _usage_of(
    gone: Sequence[AdmittedWorkload], found: Nominee
) -> tuple[tuple[FlavorResource, int], ...]:
    """The missing quota that their end frees; if only clusters were short, everything that they hold."""
    contested = {s.of for s in found.search.shortages}
    total: dict[FlavorResource, int] = {}
    for holder in gone:
        for of, amount in holder.usage.items():
            if not contested or of in contested:
                total[of] = total.get(of, 0) + amount
    return tuple(sorted(total.items()))


# --- it may preempt -------------------------------------------------------------------------------


def _priority(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """The least priority with which it could preempt."""
    policy = trial.policy
    contested = {s.of for s in found.search.shortages}
    for_room = not contested and trial.profile.rules.for_room
    if (policy.within, policy.reclaim) == (NEVER, NEVER) or not (contested or for_room):
        return
    root = trial.quota_state.node(trial.who.queue).root()
    names = [root.name] if root.is_queue else [n.name for n in root.queues()]
    steps = sorted(
        {
            h.priority
            for name in names
            for h in trial.quota_state.holders(name)
            if h.priority >= trial.who.priority and (h.uses(contested) or for_room)
        }
    )
    size = trial.least(
        len(steps), lambda n: _gets(trial.ask(Variation(priority=steps[n - 1] + 1)))
    )
    if size is not None:
        step = steps[size - 1]
        yield _displacing(
            RemedyKind.PRIORITY, trial.ask(Variation(priority=step + 1)), number=step
        )


def _policy(trial: Trial) -> Iterator[Remedy]:
    """The mildest policies of its ClusterQueue that would let it preempt."""
    policy, cohort = trial.policy, trial.queue.cohort
    within = {"within": "LowerPriority"}, {"within": "LowerOrNewerEqualPriority"}
    reclaim = {"reclaim": "LowerPriority"}, {"reclaim": "Any"}
    names = {
        "within": "withinClusterQueue",
        "reclaim": "reclaimWithinCohort",
        "borrow_within": "borrowWithinCohort.policy",
    }
    listed: list[Sequence[dict[str, str]]] = [within] if not cohort else [within, reclaim]
    if cohort and policy.reclaim != NEVER and policy.borrow_within == NEVER:
        listed.append(({"borrow_within": "LowerPriority"},))
    for steps in listed:
        for step in steps:
            ((name, value),) = step.items()
            if not trial.may_ask or _allows(getattr(policy, name), value):
                continue
            found = trial.ask(Variation(policy=replace(policy, **{name: value})))  # type: ignore[arg-type]  # texts
            if found.victims:
                yield _displacing(RemedyKind.POLICY, found, setting=names[name], value=value)
                break


_ALLOWS: Final = (NEVER, "LowerPriority", "LowerOrNewerEqualPriority", "Any")


def _allows(present: str, value: str) -> bool:
    """Does a policy allow at least as much?"""
    return _ALLOWS.index(present) >= _ALLOWS.index(value) if present in _ALLOWS else True


def _limits(trial: Trial) -> Iterator[Remedy]:
    """An administrator's preemption settings, one by one."""
    limits = trial.profile.rules.limits
    if limits.budget is not None and trial.may_ask:
        found = trial.ask(Variation(limits=replace(limits, budget=None)))
        if found.victims:
            yield _displacing(RemedyKind.BUDGET, found, number=len(found.victims))
    if limits.minimum_runtime and trial.may_ask:
        found = trial.ask(Variation(limits=replace(limits, minimum_runtime=0)))
        if found.victims:
            at = max(v.holder.started_at or 0 for v in found.victims) + limits.minimum_runtime
            yield _displacing(RemedyKind.MINIMUM_RUNTIME, found, at=at)
    if limits.protected and trial.may_ask:
        found = trial.ask(Variation(limits=replace(limits, protected=frozenset())))
        if found.victims:
            yield _displacing(
                RemedyKind.PROTECTED, found, value=_first_protected(found.victims, trial)
            )


def _first_protected(victims: Sequence[Victim], trial: Trial) -> str:
    protected = trial.profile.rules.limits.protected
    return min((v.holder.queue for v in victims if v.holder.queue in protected), default="")


def _gets(found: Nominee) -> bool:
    return found.search.mode is Mode.FIT or bool(found.victims)

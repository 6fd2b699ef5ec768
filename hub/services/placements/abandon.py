"""Objects that a placement no longer wants in a cluster: withdrawn, or abandoned.

Abandoned ones (`deleteStrategy.propagationPolicy: Abandon`) stay in the member, which takes everything
of ours off them; the row of the work goes when its agent has said so. Agents before protocol 3 do nothing
about it: the placement's condition `Abandoning` names the members.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from hub.store import clusters, objects, works
from hub.store.records.objects import StoredObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.conditions import Condition, remove, set_condition
from shared.documents import JsonView
from shared.wire.versions import ABANDONS, OLDEST

CONDITION: Final = "Abandoning"
HELD: Final = frozenset({"Apply", "Compare"})  # actions of works that are wanted where they are
_MOST_NAMED: Final = 5  # members


def abandons(spec: JsonView) -> bool:
    """Does a placement leave what it placed to the members?"""
    strategy = spec.get("strategy") or {}
    return bool((strategy.get("deleteStrategy") or {}).get("propagationPolicy") == "Abandon")


def compares(spec: JsonView) -> bool:
    """Does a placement only compare what it selects with what the members have?"""
    strategy = spec.get("strategy") or {}
    return bool((strategy.get("applyStrategy") or {}).get("type") == "ReportDiff")


def is_external(spec: JsonView) -> bool:
    """Do staged update runs alone give a placement's versions to clusters?"""
    return bool((spec.get("strategy") or {}).get("type") == "External")


def give_up(tx: Transaction, held: Iterable[Work], spec: JsonView | None) -> None:
    """Objects that are no longer wanted where they are; what is on its way already stays on it.

    `spec`: of their placement as it now is; None: it is gone, and what each was placed with counts.
    """
    still = [work for work in held if work.epoch == 0 and work.action in HELD]
    actions: dict[str, list[tuple[str, str]]] = {"Withdraw": [], "Keep": []}
    for work in still:
        left = work.options.abandon if spec is None else abandons(spec)
        actions["Keep" if left else "Withdraw"].append((work.cluster, work.uid))
    for action, keys in actions.items():
        works.act(tx, action, keys)


def being_abandoned(held: Iterable[Work]) -> list[Work]:
    """Works that are ordered to abandon their objects and have not yet."""
    return [work for work in held if work.epoch == 0 and work.action == "Keep"]


def condition(
    tx: Transaction,
    conditions: Sequence[Condition] | None,
    held: Sequence[Work],
    generation: int,
) -> list[Condition]:
    """Conditions with `Abandoning` while something of `held` is pending, else without it."""
    if not held:
        return remove(conditions, CONDITION)
    counts = Counter(work.cluster for work in held)
    old = too_old(tx, counts, ABANDONS)
    reason = "AgentTooOld" if old else "InProgress"
    text = (
        f"{len(held)} object(s) are being abandoned in their members: {_told(held, counts, old)}"
    )
    return set_condition(conditions, CONDITION, "True", reason, text, tx.now, generation)


def tell(tx: Transaction, row: StoredObject, held: Sequence[Work]) -> None:
    """Say in the status of a placement that is being deleted what it waits for."""
    status = row.status or {}
    before = status.get("conditions") or []
    conditions = condition(tx, before, held, row.generation)
    if conditions != before:
        objects.set_statuses(tx, {row.uid: {**status, "conditions": conditions}})


def too_old(tx: Transaction, names: Iterable[str], needed: int) -> dict[str, int]:
    """Members whose agent speaks no protocol as new as is needed, with the one that it speaks."""
    found: dict[str, int] = {}
    for name in names:
        member = clusters.get(tx, name)
        spoken = int(((member.agent if member else None) or {}).get("protocol") or OLDEST)
        if spoken < needed:
            found[name] = spoken
    return found


def _told(held: Sequence[Work], counts: Counter[str], old: dict[str, int]) -> str:
    troubles = {work.cluster: work.message for work in held if work.message}
    said = []
    for name in sorted(counts, key=lambda name: (name not in old, name))[:_MOST_NAMED]:
        one = f"{counts[name]} in {name}"
        if name in old:
            one += (
                f", whose agent can not (it speaks protocol {old[name]}, and {ABANDONS} is needed): "
                "they stay unchanged until it is upgraded"
            )
        elif name in troubles:
            one += f" ({troubles[name]})"
        said.append(one)
    more = len(counts) - len(said)
    return "; ".join(said) + (f"; and {more} more members" if more > 0 else "")

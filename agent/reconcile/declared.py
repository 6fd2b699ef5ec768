"""Rules of availability that are declared on the hub: taken in while works are held."""

from agent.reconcile.reconciler import Reconciler
from shared.kinds.availability_rules import Rule
from shared.wire.availability_rules import AvailabilityRules


def take_rules(reconciler: Reconciler, told: AvailabilityRules | None) -> None:
    """Use these rules from now on, and check objects of the changed kinds again.

    None: by the earlier rules.
    """
    if told is None:
        return
    rules = {(each.group, each.kind): Rule(each.available, each.message) for each in told.rules}
    changed = reconciler.rules.declare(told.revision, rules)
    for uid, tracked in reconciler.tracked_works.items():
        if tracked.work is not None and tracked.work.kind in changed:
            reconciler.mark(uid)

"""When objects of custom kinds are available, as administrators declare it for all members: one setting.

Agents are told with their next sync, by a revision that is never used twice, also not by a hub whose store
was restored from an older copy. What an agent of an earlier release is told it leaves alone.
"""

from collections.abc import Sequence
from typing import Final

from hub.store import audit, settings
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds.availability_rules import BUILT_IN
from shared.kinds.declared_availability import Declared, check

SETTING: Final = "availability_rules"
NONE: Final[Json] = {"revision": 0, "rules": []}


def load(tx: Transaction) -> Json:
    """{"revision", "rules": [{"group", "kind", "available", "message"}]}."""
    stored: Json | None = settings.get(tx, SETTING)
    return stored or NONE


def show(tx: Transaction) -> Json:
    """What is declared, and what is built in."""
    built_in = [
        {"group": group, "kind": kind, "available": rule.available, "message": rule.message}
        for (group, kind), rule in sorted(BUILT_IN.items())
    ]
    return {**load(tx), "builtIn": built_in}


def declare(tx: Transaction, rules: Sequence[Declared], principal: str) -> Json:
    """Replace what is declared. Raises Rejected naming each fault; then all stays as it was."""
    check(rules)
    before = load(tx)
    given = [dict(each) for each in rules]
    if before["rules"] != given:
        revision = max(int(before["revision"]) + 1, int(tx.now.timestamp() * 1000))
        settings.put(tx, SETTING, {"revision": revision, "rules": given})
        of = f"availability rules ({len(given)})"
        audit.add(tx, principal, "declare", of, about=("AvailabilityRules", "", ""))
    return show(tx)

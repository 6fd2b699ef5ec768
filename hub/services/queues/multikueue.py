"""MultiKueue's conditions: which workers are there, and whether a check can dispatch to any.

The hub is the controller of checks with controllerName kueue.x-k8s.io/multikueue, as Kueue itself is: a
MultiKueueCluster is Active while the member of its name has joined and its agent is heard; a check is
Active while its MultiKueueConfig names at least one such worker.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from hub.domain.placement.plugins.eligibility import SUSPECT_AFTER_S
from hub.services.index.check_catalog import CHECK, CONFIG, WORKER, read_check
from hub.services.queues import conditions as queue_conditions
from hub.store import clusters, objects
from hub.store.records.members import Member
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

Said = tuple[str, str, str]  # status, reason, message of condition Active


def refresh(tx: Transaction, suspect_after_s: float = SUSPECT_AFTER_S) -> bool:
    """Bring the conditions up to date; False if all were."""
    changed = _changed(tx, suspect_after_s)
    objects.set_statuses(tx, changed)
    return bool(changed)


def is_stale(tx: Transaction, suspect_after_s: float) -> bool:
    """Has a member come or gone since the conditions were written?"""
    return bool(_changed(tx, suspect_after_s))


def refresh_led(tx: Transaction, suspect_after_s: float, term: int) -> None:
    """`refresh` as the leader, and what queues say that depend on it. Raises StaleTerm."""
    tx.require_term(term)
    if refresh(tx, suspect_after_s):
        queue_conditions.refresh(tx)


def _changed(tx: Transaction, suspect_after_s: float) -> Json:
    """Statuses that are to be written, by uid."""
    checks = [row for row in objects.list_kind(tx, KUEUE, CHECK) if read_check(row).by_hub]
    workers = objects.list_kind(tx, KUEUE, WORKER)
    if not checks and not workers:
        return {}
    members = {member.name: member for member in clusters.list_all(tx)}
    limit = tx.now - dt.timedelta(seconds=suspect_after_s)
    said = {w.name: worker_says(w.name, members.get(w.name), limit) for w in workers}
    changed: Json = {}
    for row in workers:
        _put(tx, changed, row, said[row.name])
    active = {name: says[0] == "True" for name, says in said.items()}
    configs = {row.name: row for row in objects.list_kind(tx, KUEUE, CONFIG)}
    for row in checks:
        name = read_check(row).config
        config = configs.get(name)
        names = None if config is None else (config.spec or {}).get("clusters") or ()
        _put(tx, changed, row, check_says(name, names, active))
    return changed


def worker_says(name: str, member: Member | None, limit: dt.datetime) -> Said:
    """Condition Active of a MultiKueueCluster. `limit`: heard before it is too long ago."""
    failed = "ClientConnectionFailed"
    if member is None:
        return "False", failed, f"no member cluster is called {name}"
    if member.joined_at is None:
        return "False", failed, f"member {name} has not joined yet"
    if member.heartbeat_at is None or member.heartbeat_at < limit:
        return "False", failed, f"the agent of member {name} is silent"
    return "True", "Active", "Connected"


def check_says(config: str, names: Any, active: Mapping[str, bool]) -> Said:
    """Condition Active of a MultiKueue check. `names`: of its config, None if there is none.

    `active`: of each MultiKueueCluster.
    """
    if names is None:
        what = (
            f"MultiKueueConfig {config} does not exist"
            if config
            else "it names no MultiKueueConfig"
        )
        return "False", "BadConfig", f"Cannot load the AdmissionChecks parameters: {what}"
    missing = [name for name in names if name not in active]
    inactive = [name for name in names if name in active and not active[name]]
    if not missing and not inactive:
        return "True", "Active", "The admission check is active"
    parts = []
    if missing:
        parts.append(f"Missing clusters: {', '.join(missing)}")
    if inactive:
        parts.append(f"Inactive clusters: {', '.join(inactive)}")
    if len(missing) + len(inactive) == len(names):
        return "False", "NoUsableClusters", "; ".join(parts)
    return "True", "SomeActiveClusters", "; ".join(parts)


def _put(tx: Transaction, changed: Json, row: StoredObject, said: Said) -> None:
    status, reason, message = said
    condition = {"type": "Active", "status": status, "reason": reason, "message": message}
    merged = queue_conditions.with_conditions(row.status, [condition], tx.now, row.generation)
    if merged is not None:
        changed[row.uid] = merged

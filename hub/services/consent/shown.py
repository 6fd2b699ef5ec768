"""Namespaces of one member that the hub names to its agent: their consent, and who runs there."""

from collections.abc import Iterable
from typing import Final

import orjson

from hub.services.consent import namespaces as consents
from hub.store import clusters, jobs, works
from hub.store.transaction import Transaction
from shared.consent import CLOSED, NOT_ACCEPTED, accept_command
from shared.documents import Json

_UNKNOWN: Final = "Unknown"


def list_namespaces(tx: Transaction, cluster: str) -> Json:
    """{"items"} by name: state, who decides to change it, and who runs there."""
    named = consents.load(tx)
    states, reports = _reported(tx, cluster)
    here: dict[str, list[jobs.Tenant]] = {}
    for tenant in jobs.tenants_in(tx, cluster):
        here.setdefault(tenant.namespace, []).append(tenant)
    taken_over = _taken_over(tx, cluster)
    names = named.names | here.keys() | taken_over | states.keys()
    items = []
    for name in sorted(names):
        state = states.get(name, _UNKNOWN)
        tenants = here.get(name, [])
        is_open = state not in CLOSED | {"Continued"}
        if state == NOT_ACCEPTED and tenants:
            state = "Withdrawn"
        command = "" if is_open else accept_command(f"namespace {name}", named.hub_id)
        items.append(
            {
                "name": name,
                "state": state,
                "takenOver": name in taken_over,
                "jobs": sum(tenant.jobs for tenant in tenants),
                "queues": _distinct(tenant.queue for tenant in tenants),
                "tenants": _distinct(tenant.owner for tenant in tenants),
                "command": command,
            }
        )
    return {"cluster": cluster, "reportsConsent": reports, "items": items}


def _reported(tx: Transaction, cluster: str) -> tuple[dict[str, str], bool]:
    capacity = clusters.get_capacities(tx, [cluster]).get(cluster)
    consent = None if capacity is None else orjson.loads(capacity[0]).get("consent")
    return ({}, False) if consent is None else (dict(consent.get("states") or {}), True)


def _taken_over(tx: Transaction, cluster: str) -> set[str]:
    """Namespaces that a placement took over: its agent reports that it did not create them."""
    return {
        work.name
        for work in works.placed_in(tx, cluster)
        if work.kind == "Namespace"
        and work.phase == "Applied"
        and (work.observed or {}).get("created") is False
    }


def _distinct(values: Iterable[str]) -> list[str]:
    return sorted(set(values) - {""})

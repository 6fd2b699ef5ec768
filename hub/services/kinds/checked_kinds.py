"""Versions of the kinds that administrators defined, and what a definition would change."""

from collections.abc import Sequence

from hub.services.kinds.declared_kinds import definition_of
from hub.services.kinds.definitions import GivenDefinition, without_rivals
from hub.services.kinds.kind_versions import refuse_another_kind
from hub.store import kind_versions
from hub.store.kind_versions import KindVersion
from hub.store.transaction import Transaction
from shared.conditions import rfc3339
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.assumptions import assumptions_of
from shared.workkinds.definition import Definition
from shared.workkinds.dispatchable import lacking


def list_versions(tx: Transaction) -> Json:
    """{"items": […]}: all versions that are kept."""
    counts, known = kind_versions.counts(tx), kind_versions.all_known(tx)
    current = {each.key for each in kind_versions.read_by(known).values()}
    return {"items": [_shown(each, counts, current) for each in known]}


def _shown(each: KindVersion, counts: dict[str, tuple[int, int]], current: set[str]) -> Json:
    try:
        missing = lacking(definition_of(each))
    except Rejected as refusal:  # of an earlier release, which allowed it
        missing = [refusal.detail]
    return {
        "name": each.name,
        "version": each.version,
        "apiVersion": each.api_version,
        "kind": each.kind,
        "current": each.key in current,
        "createdAt": rfc3339(each.created_at),
        "jobs": sum(counts.get(each.key, (0, 0))),
        "lacking": missing,
    }


def checked(tx: Transaction, given: Sequence[GivenDefinition]) -> list[Json]:
    """Compare sound definitions with the present versions; nothing is kept.

    Raises Rejected: InvalidValue for one whose kind another Karta defines, KindInUse for one of another kind
    than that of the jobs that are read by it.
    """
    known = kind_versions.all_known(tx)
    newest = {each.name: each for each in known}
    in_use = {each.name: kind for kind, each in kind_versions.read_by(known).items()}
    for one in without_rivals(given, in_use):
        if one.fault:
            raise Rejected(RejectCode.INVALID_VALUE, one.fault)
        if one.definition is not None:
            refuse_another_kind(tx, one.name, one.definition.of)
    counts = kind_versions.counts(tx)
    return [
        _checked(each, each.definition, newest.get(each.name), counts)
        for each in given
        if each.definition is not None
    ]


def _checked(
    given: GivenDefinition,
    definition: Definition,
    newest: KindVersion | None,
    counts: dict[str, tuple[int, int]],
) -> Json:
    present = newest if newest is not None and newest.current else None
    same = present is not None and present.hash == given.hash
    number = 1 if newest is None else newest.version + (not same)
    used = [both for key, both in counts.items() if key.rpartition("@")[0] == given.name]
    actions = ", ".join(each.path.removeprefix(".") for each in definition.karta.suspend)
    return {
        "name": given.name,
        "apiVersion": definition.of.api_version,
        "kind": definition.of.kind,
        "suspendPath": definition.extended.held_by or actions or None,
        "states": list(definition.karta.status.mappings),
        "assumed": list(assumptions_of(definition)),
        "lacking": lacking(definition),
        "present": "" if present is None else present.key,
        "next": kind_versions.key_of(given.name, number),
        "waiting": sum(waiting for waiting, _ in used),
        "placed": sum(placed for _, placed in used),
    }

"""Previews the manifests that clusters would get of a placement in documents, as if these were stored."""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.placement.overrides import Override
from hub.domain.placement.status import Resource
from hub.services.placements.manifests.render import Rendered, render
from hub.services.placements.override import Overrides
from hub.services.placements.selecting import (
    NAMESPACE,
    Selection,
    SelectionRules,
    choose,
    read_rules,
)
from hub.services.queues.defaults import row_of
from hub.services.reading.draft import Draft
from hub.services.reading.envelopes import identity_of
from hub.store import placements
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.groups import PLACEMENT

NONE: Final[Json] = {"manifests": None, "faults": [], "manifestsLeft": 0}


def of_placement(
    tx: Transaction,
    given: Draft,
    drafts: Sequence[Draft],
    labels: Mapping[str, Mapping[str, str]],
) -> Json:
    """{"manifests", "faults", "manifestsLeft"}; `labels`: of the clusters meant."""
    parsed = given.parsed
    rules = read_rules(parsed.kind, parsed.namespace, parsed.spec)
    selection = choose(tx, rules)
    stored = {identity_of(row): uid for uid, row in selection.objects.items()}
    for each in drafts:
        if not each.is_job:  # what it was is over, selected again or not
            selection.objects.pop(stored.get(_identity(each), ""), None)
    for each in taken(rules, selection, drafts):
        if not each.is_job:
            selection.objects[each.uid] = row_of(each, tx)
    selection.open(tx)
    others = [_override(each) for each in drafts if _is_override(each)]
    uids = placements.override_uids(tx)
    overrides = Overrides(tx, row_of(given, tx), selection, uids, others)
    return render(tx, selection, overrides, labels, Rendered()).told()


def taken(rules: SelectionRules, chosen: Selection, drafts: Sequence[Draft]) -> list[Draft]:
    """The documents that the placement would select. `chosen`: what it selects of the store."""
    named = [rule for rule in rules.rules if (rule.group, rule.kind) != NAMESPACE]
    whole = {row.name for row in chosen.objects.values() if row.kind == "Namespace"} | {
        each.name
        for each in drafts
        if (each.parsed.group, each.parsed.kind) == NAMESPACE and may_select(rules, each)
    }
    return [
        each
        for each in drafts
        if may_select(rules, each)
        and (
            not (p := each.parsed).namespace
            or p.namespace in whole
            or any(rule.matches(p.group, p.kind, each.name, p.labels) for rule in named)
        )
    ]


def resources_of(drafts: Sequence[Draft]) -> list[Resource]:
    """Their identifiers."""
    return [
        Resource(p.group, p.version, p.kind, p.namespace, each.name)
        for each in drafts
        if (p := each.parsed)
    ]


def may_select(rules: SelectionRules, given: Draft) -> bool:
    """Could the placement with these rules select the document?"""
    parsed = given.parsed
    return rules.may_select(parsed.group, parsed.kind, parsed.namespace, given.name, parsed.labels)


def _identity(given: Draft) -> tuple[str, str, str, str]:
    return given.parsed.group, given.parsed.kind, given.parsed.namespace, given.name


def _is_override(given: Draft) -> bool:
    return given.parsed.group == PLACEMENT and given.parsed.kind in placements.OVERRIDES


def _override(given: Draft) -> Override:
    parsed = given.parsed
    return Override(parsed.kind, parsed.namespace, given.name, parsed.spec, given.uid, 1)

"""Differences of a live object from the desired one, by the rules of its work, and their report. Pure."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.objects import drift
from agent.objects.drift import ABSENT, Difference, Object
from agent.objects.facts import is_created, outdated
from agent.objects.full_comparison import additions, hidden
from agent.objects.holds import JOB, is_job_work, scale_of
from shared import labels
from shared.pointers import steps, value_at
from shared.wire.agent_v1 import Drift, Work

MOST = 1000  # differences of one object that are looked at; fewer are told


def drifted(work: Work, live: Object, base: Object | None) -> tuple[list[Difference], bool]:
    """What has drifted in an object of ours; True where only a dry run can tell whether it really has.

    `base`: the manifest that it was applied from, if known: drift is measured against that while a
    newer one is on its way. Additions of others count where the work asks for a full comparison.
    """
    manifest = work.manifest
    assert manifest is not None
    if (work.api_version, work.kind) == JOB:
        found = drift.differences(manifest, live, labels.FIELD_MANAGER) or []
        return ([] if outdated(work, live) else found), False
    if is_job_work(work):
        return ([] if outdated(work, live) else _scaled(work, live)), False
    if outdated(work, live):
        against = manifest if base is None else base
        found = _against_older(manifest, live, base)
        return _few([*found, *_added(work, against, live)]), False
    held = drift.differences(manifest, live, labels.FIELD_MANAGER)
    if held is None:
        held = drift.compared(manifest, live)
        return _few(held), bool(held)
    return _few([*held, *_added(work, manifest, live)]), False


def _scaled(work: Work, live: Object) -> list[Difference]:
    """Another number of pods than is reserved. Which other fields its operator fills in, nobody has told."""
    scale = scale_of(work)
    if scale is None or (there := value_at(live, scale.path)) == scale.value:
        return []
    return [Difference(tuple(steps(scale.path)), scale.value, there)]


def told(
    found: Iterable[Difference], manifest: Object, known: Mapping[str, Drift], now_text: str
) -> dict[str, Drift]:
    """By JSON pointer, with the values unless they are secret, and since when."""
    said: dict[str, Drift] = {}
    for each in found:
        if each.pointer in said:
            continue  # an addition at the place of a desired item that is gone
        before = known.get(each.pointer)
        said[each.pointer] = Drift.model_construct(
            path=each.pointer,
            hub=_shown(manifest, each.path, each.hub),
            member=_shown(manifest, each.path, each.member),
            first_seen=before.first_seen if before is not None else now_text,
        )
    return said


def _shown(manifest: Object, path: drift.Path, value: Any) -> str | None:
    return drift.shown(value, drift.is_secret(manifest, path, value))


def has_added(found: Iterable[Difference]) -> bool:
    """Is any of them an addition of others, which no apply takes away?"""
    return any(each.hub is ABSENT for each in found)


def has_drifted(found: Iterable[Difference]) -> bool:
    """Is any of them a desired path, which an apply would bring back?"""
    return any(each.hub is not ABSENT for each in found)


def _added(work: Work, manifest: Object, live: Object) -> list[Difference]:
    if not work.compare_all:
        return []
    found = additions(manifest, live, labels.FIELD_MANAGER)
    hub_id = (live["metadata"].get("labels") or {}).get(labels.MANAGED_BY)
    return found if hub_id and is_created(live, hub_id) else hidden(found)


def _against_older(manifest: Object, live: Object, base: Object | None) -> list[Difference]:
    """A newer manifest is on its way: drift is measured against the one applied, if known."""
    if base is not None and base is not manifest:
        held = drift.differences(base, live, labels.FIELD_MANAGER)
        if held is not None:
            return [each for each in held if not _is_wanted_now(each, base, manifest)]
    return drift.contested(manifest, live, labels.FIELD_MANAGER)


def _is_wanted_now(found: Difference, base: Object, manifest: Object) -> bool:
    """Does the newer manifest say what the member has? Somebody accepted it: nothing is written over.

    A list's item has to be the same one, by its keys, at the same place of both manifests.
    """
    older, newer = drift.comparable(base), drift.comparable(manifest)
    for depth in range(len(found.path)):
        one, other = (drift.at(each, found.path[:depth]) for each in (older, newer))
        if not isinstance(one, list):
            continue
        keys = drift.keys_of(one)
        items = (drift.at(each, (found.path[depth],)) for each in (one, other))
        first, second = ([e.get(k) for k in keys] if isinstance(e, dict) else None for e in items)
        if first is None or first != second:
            return False
    wanted = drift.at(newer, found.path)
    if wanted is ABSENT or found.member is ABSENT:
        return wanted is found.member
    return drift.same(wanted, found.member)


def _few(found: Sequence[Difference]) -> list[Difference]:
    return list(itertools.islice(found, MOST))

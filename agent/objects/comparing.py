"""How a live object differs from what is desired, by the rules of its work; and how that is told. Pure."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from agent.objects import drift
from agent.objects.drift import ABSENT, Difference, Object
from agent.objects.facts import JOB, outdated
from agent.objects.full_comparison import additions
from shared import labels
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
    if outdated(work, live):
        against = manifest if base is None else base
        found = _against_older(manifest, live, base)
        return _few([*found, *_added(work, against, live)]), False
    held = drift.differences(manifest, live, labels.FIELD_MANAGER)
    if held is None:
        held = drift.compared(manifest, live)
        return _few(held), bool(held)
    return _few([*held, *_added(work, manifest, live)]), False


def told(
    found: Iterable[Difference], manifest: Object, known: Mapping[str, Drift], now_text: str
) -> dict[str, Drift]:
    """By JSON pointer, with the values unless they are secret, and since when."""
    said: dict[str, Drift] = {}
    for each in found:
        if each.pointer in said:
            continue  # an addition at the place of a desired item that is gone
        secret = drift.is_secret(manifest, each.path)
        before = known.get(each.pointer)
        said[each.pointer] = Drift.model_construct(
            path=each.pointer,
            hub=drift.shown(each.hub, secret),
            member=drift.shown(each.member, secret),
            first_seen=before.first_seen if before is not None else now_text,
        )
    return said


def has_added(found: Iterable[Difference]) -> bool:
    """Is any of them an addition of others, which no apply takes away?"""
    return any(each.hub is ABSENT for each in found)


def has_drifted(found: Iterable[Difference]) -> bool:
    """Is any of them a desired path, which an apply would bring back?"""
    return any(each.hub is not ABSENT for each in found)


def _added(work: Work, manifest: Object, live: Object) -> list[Difference]:
    if not work.compare_all:
        return []
    return additions(manifest, live, labels.FIELD_MANAGER)


def _against_older(manifest: Object, live: Object, base: Object | None) -> list[Difference]:
    """A newer manifest is on its way: drift is measured against the one applied, if known."""
    if base is not None and base is not manifest:
        held = drift.differences(base, live, labels.FIELD_MANAGER)
        if held is not None:
            return held
    return drift.contested(manifest, live, labels.FIELD_MANAGER)


def _few(found: Sequence[Difference]) -> list[Difference]:
    return list(itertools.islice(found, MOST))

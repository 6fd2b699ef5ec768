"""Contents of the envelopes that a placement selects: each object as if it had been applied alone.

It is known by what it is, not by where it lies: moved from one envelope into another it stays the same. Of
two that are the same object, what is selected itself comes first, then the first envelope by its name.
"""

import hashlib
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from hub.domain.placement.status import Resource
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.groups import PLACEMENT
from shared.kinds.envelope_v1 import Enveloped, open_envelope
from shared.kinds.registry import parse
from shared.kinds.scopes import is_enveloping
from shared.reject_codes import RejectCode

KINDS: Final = ("ClusterResourceEnvelope", "ResourceEnvelope")
DUPLICATED: Final = "Duplicated"
NOT_PLACEABLE: Final = "ManifestNotPlaceable"
NO_KIND: Final = "Manifest"  # in place of the kind that a manifest does not say
CRON_JOB: Final = ("batch", "CronJob")
SCHEDULED: Final = (
    "the hub keeps the schedule of the CronJob of this name, and no member runs it beside the hub: take it "
    "out of the envelope, or delete the other"
)
_GENERATED_NAME: Final = "FoundGenerateName"
_KNOWN_BY: Final = uuid.UUID("6a0e6b6c-7a0c-5f0e-9a55-0b6c4fd2a1b7")
_MOST_REMEMBERED: Final = 2_000
Identity = tuple[str, str, str, str]  # group, kind, namespace, name


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """A manifest of an envelope that is not placed, and why."""

    resource: Resource
    reason: str
    message: str


class Contents(NamedTuple):
    """The contents of envelopes. `inside`: by uid of an object, the envelope that it lies in."""

    rows: dict[str, StoredObject]
    inside: dict[str, str]
    left_out: list[NotPlaced]


def is_envelope(row: StoredObject) -> bool:
    """Do members get what is in it?"""
    return is_enveloping(row.api_group, row.kind)


def named(row: StoredObject) -> str:
    """An envelope as works and statuses keep it: kind, namespace ("" of none) and name."""
    return f"{row.kind}/{row.namespace}/{row.name}"


def uid_of(identity: Identity) -> str:
    """By which works know an object of an envelope."""
    return str(uuid.uuid5(_KNOWN_BY, "/".join(identity)))


def identity_of(row: StoredObject) -> Identity:
    """The identity of an object, whatever its uid."""
    return row.api_group, row.kind, row.namespace, row.name


def are_stored(tx: Transaction) -> bool:
    """Is there any envelope?"""

    def ask() -> bool:
        return any(objects.list_kind(tx, PLACEMENT, kind, limit=1) for kind in KINDS)

    return tx.remembered("objects", "envelopes", ask)


def cron_jobs_of(tx: Transaction, row: StoredObject) -> list[str]:
    """The names of the CronJobs in a ResourceEnvelope; they are of its namespace."""
    return [each.name for each in _opened(tx, row) if (each.group, each.kind) == CRON_JOB]


def open_all(
    tx: Transaction, envelopes: Iterable[StoredObject], selected: Iterable[StoredObject]
) -> Contents:
    """Their contents, beside the `selected` objects themselves."""
    taken = {identity_of(row): "selected itself too, which comes first" for row in selected}
    found = Contents({}, {}, [])
    ordered = sorted(envelopes, key=lambda each: (each.kind, each.namespace, each.name))
    scheduled = _scheduled(tx, (one for row in ordered for one in _opened(tx, row)))
    for row in ordered:
        for each in _opened(tx, row):
            _add(found, row, each, taken, scheduled)
    return found


def _opened(tx: Transaction, row: StoredObject) -> Sequence[Enveloped]:
    """An envelope's manifests: read once, as long as it says the same."""
    known = tx.remembered("contents", "envelopes", dict[tuple[str, str], Sequence[Enveloped]])
    key = (row.uid, row.hash)
    if key not in known:
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[key] = open_envelope(row.manifest, row.kind, row.namespace, parse)
    return known[key]


def _scheduled(tx: Transaction, opened: Iterable[Enveloped]) -> set[Identity]:
    """Those of the CronJobs among them whose schedule the hub keeps."""
    names = {one.name for one in opened if (one.group, one.kind) == CRON_JOB}
    rows = objects.list_kind(tx, *CRON_JOB, names=sorted(names)) if names else []
    return {identity_of(row) for row in rows if row.is_scheduled}


def _add(
    found: Contents,
    row: StoredObject,
    one: Enveloped,
    taken: dict[Identity, str],
    scheduled: Collection[Identity],
) -> None:
    version = one.api_version.rpartition("/")[2]
    if one.faults or one.manifest is None:
        # Statuses name every object: where the manifest says none, it is known by what the envelope calls it.
        kind, name = one.kind or NO_KIND, one.name or one.key
        resource = Resource(one.group, version, kind, one.namespace, name, named(row))
        generated = one.faults and one.faults[0].code == RejectCode.FORBIDDEN_FIELD
        reason = _GENERATED_NAME if generated else NOT_PLACEABLE
        found.left_out.append(NotPlaced(resource, reason, one.why))
        return
    resource = Resource(one.group, version, one.kind, one.namespace, one.name, named(row))
    identity = (one.group, one.kind, one.namespace, one.name)
    if identity in scheduled:
        found.left_out.append(NotPlaced(resource, NOT_PLACEABLE, f"data[{one.key}]: {SCHEDULED}"))
        return
    where = f"{row.kind} {'/'.join(part for part in (row.namespace, row.name) if part)}"
    if identity in taken:
        text = f"data[{one.key}] of {where}: the same object is {taken[identity]}; take one out"
        found.left_out.append(NotPlaced(resource, DUPLICATED, text))
        return
    taken[identity] = f"in {where} as {one.key}, which comes first"
    body = orjson.dumps(one.manifest, option=orjson.OPT_SORT_KEYS)
    uid = uid_of(identity)
    found.rows[uid] = row._replace(
        uid=uid,
        api_group=one.group,
        api_version=one.api_version,
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        labels=dict(one.labels or {}),
        annotations=dict(one.annotations or {}),
        spec=None,
        manifest=one.manifest,
        hash=hashlib.blake2b(body, digest_size=16).hexdigest(),
        status=None,
    )
    found.inside[uid] = named(row)

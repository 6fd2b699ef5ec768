"""Content of a placement's records on the hub cluster: snapshots, bindings, works.

KubeFleet's names, labels and fields, as far as the hub knows them. A Work names what its cluster is given
and says how it stands there; the manifests are in the resource snapshots, once for all clusters. What is
secret is hidden in them. Times of what did not change are those of before.
"""

import datetime as dt
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from hub.bridge.kinds import WORKS_NAMESPACE
from hub.bridge.record_works import named, work_status
from hub.services.mirror.records import PlacementFacts
from hub.services.placements.abandon import HELD
from hub.store.records.placements import BoundBinding, StoredRevision
from hub.store.records.works import Work
from shared import labels, secrecy
from shared.conditions import Condition, set_condition
from shared.documents import Json, JsonView
from shared.kinds.records import (
    API_VERSION,
    BINDINGS,
    POLICY_SNAPSHOTS,
    RESOURCE_SNAPSHOTS,
    WORK,
    RecordKind,
)

FLEET: Final = "kubernetes-fleet.io/"
ORIGIN: Final = "hub"  # value of label roadstead.dev/origin
PART_BYTES: Final = 800_000  # of one resource snapshot
PART_WORKS: Final = 500  # of one Work
UNIT_BYTES: Final = 8192  # a record counts once, and once more for each so many
_LAYOUT: Final = 1  # raised when records of the same facts are to be written anew
_TIMES: Final = frozenset({"lastTransitionTime", "observationTime"})


class Key(NamedTuple):
    """Where a record is."""

    kind: str
    namespace: str
    name: str


class ShownRecord(NamedTuple):
    """One record. `digest` changes when it is to be written anew; `body` is made only then."""

    kind: RecordKind
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    body: Json  # spec and status, conditions without their times

    @property
    def key(self) -> Key:
        """Where it is."""
        return Key(self.kind.kind, self.namespace, self.name)

    @property
    def digest(self) -> str:
        """Of all that it says, times aside."""
        told = [_LAYOUT, self.labels, self.annotations, _timeless(self.body)]
        return _digest(orjson.dumps(told, option=orjson.OPT_SORT_KEYS))

    @property
    def units(self) -> int:
        """What it counts for, of as many as may be shown."""
        return units_of(self.body)


def units_of(content: JsonView) -> int:
    """What an object with this spec counts for: once, and once more for each 8 KiB of it."""
    return 1 + len(orjson.dumps(content.get("spec"))) // UNIT_BYTES


def object_of(
    record: ShownRecord, digest: str, before: Sequence[Condition], now: dt.datetime
) -> Json:
    """The object to write. `before`: conditions of the one that is there, for their times."""
    placed = {"namespace": record.namespace} if record.namespace else {}
    notes = {**record.annotations, labels.SPEC_HASH: digest}
    body = dict(record.body)
    status = dict(body.get("status") or {})
    conditions = status.get("conditions")
    if conditions is not None:
        told = {each["type"] for each in conditions}
        made = [each for each in before if each.get("type") in told]
        for each in conditions:
            of = (each["type"], each["status"], each["reason"], each["message"])
            made = set_condition(made, *of, now, each.get("observedGeneration"))
        status["conditions"] = made
    if status:
        body["status"] = status
    metadata = {"name": record.name, **placed, "labels": dict(record.labels), "annotations": notes}
    return {"apiVersion": API_VERSION, "kind": record.kind.kind, "metadata": metadata, **body}


def records_of(facts: PlacementFacts, known: Collection[int]) -> Iterator[ShownRecord]:
    """All records of a placement but those of revisions that are `known`, whose contents were not read."""
    of = _OfPlacement(facts)
    if facts.row.deleted_at is None:
        yield from of.policies()
        for revision in facts.resources:
            if revision.number not in known:
                yield from of.resources(revision)
    yield from of.bindings()
    yield from of.works()


class _OfPlacement:
    """Names and labels that the records of one placement share."""

    def __init__(self, facts: PlacementFacts) -> None:
        row = facts.row
        self._facts, self._row, self._spec = facts, row, row.spec or {}
        self._scope = 1 if row.kind == "ResourcePlacement" else 0
        self._namespace = row.namespace if self._scope else ""
        self._policies = {each.hash: each.number for each in facts.policies}

    def _record(
        self,
        kind: RecordKind,
        name: str,
        body: Json,
        marks: Mapping[str, str],
        notes: Mapping[str, str],
        namespace: str = "",
    ) -> ShownRecord:
        row = self._row
        parent = {f"{FLEET}parent-CRP": _label(row.name), **marks}
        if namespace != self._namespace and self._namespace:
            parent[f"{FLEET}parent-namespace"] = _label(self._namespace)
        return ShownRecord(
            kind,
            namespace or self._namespace,
            _fit(name),
            {**parent, labels.ORIGIN: ORIGIN},
            {**notes, labels.MIRROR_OF: row.uid},
            body,
        )

    def policies(self) -> Iterator[ShownRecord]:
        """Revisions of the policy; the newest with what was decided by it."""
        newest = self._facts.policies[0].number if self._facts.policies else 0
        for each in self._facts.policies:
            latest = each.number == newest
            policy = dict(each.content)
            status: Json = {"observedCRPGeneration": self._row.generation}
            notes: dict[str, str] = {}
            if latest:
                status |= {
                    "conditions": _rungs(self._row.kind, self._row.status, {"Scheduled"}),
                    "targetClusters": [_decision(bound) for bound in self._facts.bound[:1000]],
                }
                count = (self._spec.get("policy") or {}).get("numberOfClusters")
                notes = {} if count is None else {f"{FLEET}number-of-clusters": str(count)}
            yield self._record(
                POLICY_SNAPSHOTS[self._scope],
                f"{self._row.name}-{each.number}",
                {"spec": {"policy": policy, "policyHash": each.hash}, "status": status},
                {f"{FLEET}policy-index": str(each.number), **_latest(latest)},
                notes,
            )

    def resources(self, revision: StoredRevision) -> Iterator[ShownRecord]:
        """One revision of what is selected, in parts of bounded size."""
        parts = _parts(self._manifests(revision))
        latest = revision.number == self._facts.resources[0].number
        for number, part in enumerate(parts):
            yield self._record(
                RESOURCE_SNAPSHOTS[self._scope],
                self._part_name(revision.number, number),
                {"spec": {"selectedResources": part}},
                {f"{FLEET}resource-index": str(revision.number), **_latest(latest)},
                {
                    f"{FLEET}resource-hash": revision.hash,
                    f"{FLEET}number-of-resource-snapshots": str(len(parts)),
                    f"{FLEET}subindex-of-resource-snapshot": str(number),
                },
            )

    def _part_name(self, revision: int, number: int) -> str:
        name = f"{self._row.name}-{revision}"
        return f"{name}-snapshot" if number == 0 else f"{name}-{number - 1}"

    def _manifests(self, revision: StoredRevision) -> Iterator[Json]:
        for each in revision.content.get("objects") or ():
            manifest = self._facts.contents.get(each[1])
            if manifest is not None:
                hidden = secrecy.without_env(secrecy.without_secrets(manifest, _hidden))
                yield {name: value for name, value in hidden.items() if name != "status"}

    def bindings(self) -> Iterator[ShownRecord]:
        """The decision for each cluster, with what the placement's status says of it."""
        told = {
            each.get("clusterName"): each
            for each in (self._row.status or {}).get("placementStatuses") or ()
        }
        for bound in self._facts.bound:
            each = bound.binding
            policy = self._policies.get(each.policy_snapshot)
            index = each.resource_snapshot
            spec: Json = {
                "state": _state(bound),
                "targetCluster": each.cluster,
                "clusterDecision": _decision(bound),
            }
            if policy is not None:
                spec["schedulingPolicySnapshotName"] = f"{self._row.name}-{policy}"
            if index:
                spec["resourceSnapshotName"] = f"{self._row.name}-{index}-snapshot"
            spec |= self._overrides(each.overrides or ()) | _strategy(self._spec, "applyStrategy")
            status = told.get(each.cluster) or {}
            shown = ("failedPlacements", "driftedPlacements", "diffedPlacements")
            body: Json = {name: status[name] for name in shown if status.get(name)}
            body["conditions"] = [_without_times(one) for one in status.get("conditions") or ()]
            name = f"{self._row.name}-{each.cluster}-{_digest(each.cluster.encode())[:8]}"
            yield self._record(BINDINGS[self._scope], name, {"spec": spec, "status": body}, {}, {})

    def _overrides(self, overrides: Sequence[JsonView]) -> Json:
        whole = [f"{e['name']}-{e.get('index', 0)}" for e in overrides if not e["namespace"]]
        own = [
            {"name": f"{e['name']}-{e.get('index', 0)}", "namespace": e["namespace"]}
            for e in overrides
            if e["namespace"]
        ]
        told: Json = {"clusterResourceOverrideSnapshots": whole} if whole else {}
        return told | ({"resourceOverrideSnapshots": own} if own else {})

    def works(self) -> Iterator[ShownRecord]:
        """What each cluster is given, and how it stands there."""
        by_cluster: dict[str, list[Work]] = {}
        for work in self._facts.works:
            by_cluster.setdefault(work.cluster, []).append(work)
        strategy = _strategy(self._spec, "applyStrategy") | _strategy(
            self._spec, "reportBackStrategy"
        )
        prefix = f"{self._namespace}.{self._row.name}" if self._namespace else self._row.name
        for cluster, all_of_it in by_cluster.items():
            for number in range(0, len(all_of_it), PART_WORKS):
                part = number // PART_WORKS
                some = all_of_it[number : number + PART_WORKS]
                given = [each for each in some if each.action in HELD]
                manifests = [named(each) for each in given]
                yield self._record(
                    WORK,
                    f"{prefix}-work" if part == 0 else f"{prefix}-{part}",
                    {
                        "spec": {"workload": {"manifests": manifests}, **strategy},
                        "status": work_status(some),
                    },
                    {},
                    {},
                    namespace_of(cluster),
                )


def namespace_of(cluster: str) -> str:
    """Where the Works of a member are; a name that is too long ends with a digest of it."""
    name = f"{WORKS_NAMESPACE}{cluster}"
    return name if len(name) <= 63 else f"{name[:54]}-{_digest(cluster.encode())[:8]}"


def _state(bound: BoundBinding) -> str:
    if not bound.binding.selected:
        return "Unscheduled"
    return "Bound" if bound.binding.resource_snapshot else "Scheduled"


def _decision(bound: BoundBinding) -> Json:
    each = bound.binding
    scores = {"affinityScore": each.affinity_score, "priorityScore": each.topology_score}
    return {
        "clusterName": each.cluster,
        "selected": each.selected,
        "clusterScore": scores,
        "reason": each.message,
    }


def _rungs(kind: str, status: JsonView | None, wanted: Iterable[str]) -> list[Json]:
    """Conditions of a placement's status without its kind in their types."""
    return [
        {**_without_times(each), "type": each["type"].removeprefix(kind)}
        for each in (status or {}).get("conditions") or ()
        if each["type"].removeprefix(kind) in wanted
    ]


def _strategy(spec: JsonView, part: str) -> Json:
    found = (spec.get("strategy") or {}).get(part)
    return {part: found} if found else {}


def _latest(latest: bool) -> dict[str, str]:
    return {f"{FLEET}is-latest-snapshot": "true" if latest else "false"}


def _parts(manifests: Iterable[Json]) -> list[list[Json]]:
    """Manifests in parts of bounded size; one that is larger alone."""
    parts: list[list[Json]] = [[]]
    size = 0
    for each in manifests:
        length = len(orjson.dumps(each))
        if parts[-1] and size + length > PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(each)
        size += length
    return parts


def _without_times(value: JsonView) -> Json:
    return {name: _timeless(each) for name, each in value.items() if name not in _TIMES}


def _timeless(value: object) -> object:
    if isinstance(value, Mapping):
        return _without_times(value)
    return [_timeless(each) for each in value] if isinstance(value, list) else value


def _hidden(_: bytes) -> str:
    return secrecy.HIDDEN


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _fit(name: str) -> str:
    return name if len(name) <= 253 else f"{name[:240]}-{_digest(name.encode())[:12]}"


def _label(value: str) -> str:
    return value if len(value) <= 63 else f"{value[:50]}-{_digest(value.encode())[:12]}"

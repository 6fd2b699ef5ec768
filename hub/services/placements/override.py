"""Desired objects of each cluster of a placement: the selected objects with overrides applied.

The result is kept by its hash (`contents`), like every version of what a placement gives; computing it again
while nothing has changed is saved by remembering it.
"""

import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson

from hub.domain.placement.overrides import SCOPES, Override, names, naming, scope_of
from hub.domain.placement.status import Resource
from hub.domain.rollout.overriding import OverrideFailed, in_order, overridden, rules_for
from hub.services.placements.selecting import Selection, resource_of, resource_of_job
from hub.store import objects, placements
from hub.store.records.objects import StoredObject
from hub.store.records.placements import SelectedObject
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

_MOST_REMEMBERED: Final = 20_000
MOST_IDLE: Final = 5  # overrides without effect that a status names
_Key = tuple[str, tuple[tuple[str, int], ...], str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Version:
    """The objects for one cluster. `overrides`: those that have a rule for it, as bindings keep them.

    `fault`: why it can not be given that.
    """

    objects: Sequence[SelectedObject]
    overrides: list[Json] = field(default_factory=list)
    fault: str = ""
    made_of: dict[str, SelectedObject] = field(default_factory=dict)  # by uid: before overrides


class Made(NamedTuple):
    """One object as a cluster is given it, None where a rule leaves it out; and by which overrides."""

    manifest: Json | None
    overrides: list[str]


def tied_of(overrides: Sequence[JsonView] | None) -> set[tuple[str, int]]:
    """Of what a binding keeps: the overrides whose change is a new version."""
    return {(each["uid"], each["generation"]) for each in overrides or () if each["tied"]}


class Overrides:
    """Those that name what one placement selects."""

    def __init__(
        self,
        tx: Transaction,
        row: StoredObject,
        selection: Selection,
        uids: Collection[str],
        others: Sequence[Override] = (),
        older: Sequence[SelectedObject] = (),
    ) -> None:
        """`uids`: of all stored overrides: mostly none, and then nothing is read.

        `others` count besides, in place of those of the same name. `older`: objects of a version that is
        kept, selected or not.
        """
        self._tx = tx
        self._placement = row.uid
        self._rows = selection.objects
        self._resources = {each.uid: _resource(each) for each in older}
        self._resources |= {uid: resource_of(each) for uid, each in selection.objects.items()}
        kept = [
            Override(each.kind, each.namespace, each.name, _spec(each), each.uid, each.generation)
            for each in (objects.get_many(tx, uids).values() if uids else ())
            if each.deleted_at is None
        ]
        instead = {each.named for each in others}
        kept = [each for each in kept if each.named not in instead] + list(others)
        whose = (row.kind, row.name)
        self._all = in_order(naming(kept, whose, list(self._resources.values())))
        jobs = [resource_of_job(job) for job in selection.jobs.values()]
        self._kept, self._whose = kept, whose
        self.of_jobs = sorted(each.named for each in naming(kept, whose, jobs))

    def idle(self, clusters: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Of overrides that mean this placement and change nothing, why, in words.

        `clusters`: labels of those that the placement is for.
        """
        kind, name = self._whose
        selected = list(self._resources.values())
        acting = {each.named for each in self._all}
        found: list[str] = []
        for each in self._kept:
            if each.named in acting:
                if clusters and not any(rules_for(each, labels) for labels in clusters.values()):
                    found.append(
                        f"{each.named}: no rule of it selects a cluster of this placement"
                    )
                continue
            wanted = each.spec.get("placement")
            if not isinstance(wanted, dict) or wanted.get("name") != name:
                continue
            named = any(names(each, one) for one in selected)
            if scope_of(wanted) == SCOPES[kind]:
                if not named and each.named not in self.of_jobs:
                    found.append(f"{each.named}: names nothing that this placement selects")
            elif named:
                found.append(
                    f"{each.named}: placement.scope is {scope_of(wanted)}, and this is a {kind}: "
                    f"write scope: {SCOPES[kind]}"
                )
        return sorted(found)[:MOST_IDLE]

    def version(
        self, objects_: Sequence[SelectedObject], cluster: str, labels: Mapping[str, str]
    ) -> Version:
        """The selected objects for the cluster."""
        mine = [each for each in self._all if rules_for(each, labels)]
        if not mine:
            return Version(objects_)
        made = Version(
            [], [_kept(each) for each in mine], made_of={each.uid: each for each in objects_}
        )
        found: list[SelectedObject] = []
        try:
            for each in objects_:
                result = self._result(each, mine, cluster, labels)
                if result is not None:
                    found.append(each._replace(hash=result))
        except OverrideFailed as failed:
            made.fault = str(failed)
        made.objects = found
        return made

    def _result(
        self,
        one: SelectedObject,
        mine: Sequence[Override],
        cluster: str,
        labels: Mapping[str, str],
    ) -> str | None:
        """The hash of what is made of an object; None where it is left out."""
        resource = self._resources[one.uid]
        naming_it = [each for each in mine if names(each, resource)]
        if not naming_it:
            return one.hash
        _refuse_twins(naming_it, resource)
        remembered = self._tx.remembered("contents", "overridden", dict[_Key, str | None])
        key = (
            one.hash,
            tuple((each.uid, each.generation) for each in naming_it),
            cluster,
            tuple(sorted(labels.items())),
        )
        if key not in remembered:
            if len(remembered) >= _MOST_REMEMBERED:
                remembered.clear()
            made = overridden(self._manifest(one), naming_it, cluster, labels)
            remembered[key] = None if made is None else digest(made)
        return remembered[key]

    def _manifest(self, one: SelectedObject) -> JsonView:
        """An object's content in its version. Raises OverrideFailed where that is not kept."""
        row = self._rows.get(one.uid)
        if row is not None and row.hash == one.hash:
            return row.manifest
        kept = placements.get_contents(self._tx, self._placement, [one.hash])
        if one.hash not in kept:
            raise OverrideFailed(f"{one.kind} {one.name}: its version is not kept any more")
        return kept[one.hash]

    def made(self, uid: str, cluster: str, labels: Mapping[str, str]) -> Made:
        """A cluster's manifest of one object. Raises OverrideFailed."""
        mine = [each for each in self._all if rules_for(each, labels)]
        naming_it = [each for each in mine if names(each, self._resources[uid])]
        _refuse_twins(naming_it, self._resources[uid])
        manifest = overridden(self._rows[uid].manifest, naming_it, cluster, labels)
        return Made(manifest, [each.named for each in naming_it])

    def keep(self, version: Version, cluster: str, labels: Mapping[str, str]) -> None:
        """Before a cluster is given it: what it is composed from is kept."""
        made: dict[str, Json] = {}
        mine = [each for each in self._all if rules_for(each, labels)]
        for one in version.objects:
            before = version.made_of.get(one.uid)
            if before is None or one.hash == before.hash:
                continue
            naming_it = [each for each in mine if names(each, self._resources[one.uid])]
            result = overridden(self._manifest(before), naming_it, cluster, labels)
            if result is not None:
                made[one.hash] = result
        placements.add_contents(self._tx, self._placement, made)


def _resource(one: SelectedObject) -> Resource:
    group, _, version = one.api_version.rpartition("/")
    return Resource(group, version, one.kind, one.namespace, one.name)


def digest(manifest: JsonView) -> str:
    """The hash of what overrides made; 64 hex digits."""
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _refuse_twins(overrides: Sequence[Override], resource: Resource) -> None:
    """Of two of one kind the order is undefined."""
    for first, second in itertools.pairwise(overrides):
        if first.kind == second.kind:
            raise OverrideFailed(
                f"{first.named} and {second.named} both name {resource.kind} {resource.name}: "
                "one of a kind may"
            )


def _kept(each: Override) -> Json:
    return {
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
        "uid": each.uid,
        "generation": each.generation,
        "tied": each.is_tied,
    }


def _spec(row: StoredObject) -> JsonView:
    """As it came, where it was taken before its kind was read."""
    spec = row.spec if row.spec is not None else row.manifest.get("spec")
    return spec if isinstance(spec, dict) else {}

"""How an object of a kind that is no Job is written into a member: kept beside its manifest. Pure.

It follows from the definition with which the object was accepted, which stands until the object changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from shared.documents import Json, JsonView
from shared.pointers import with_value


@dataclass(frozen=True, slots=True)
class WorkForm:
    """`rule`: a `kind_rules.KindRule` as JSON. `pod_sets`: the name of each of its templates' pod sets.

    `filled`: JSON pointers of templates, with those that an operator would write there; `removed`: JSON
    pointers of fields that are for the hub alone; `ttl_s`: seconds, of which one of them is. `classes`: the
    priority classes that fields of the kind name, by their fields.
    """

    rule: JsonView
    pod_sets: Sequence[str]
    filled: Sequence[JsonView] = ()
    removed: Sequence[str] = ()
    ttl_s: int | None = None
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def templates(self) -> Sequence[str]:
        """JSON pointers of the pod templates."""
        found: Sequence[str] = self.rule["templates"]
        return found

    @property
    def pods(self) -> int:
        """How many pods run at once."""
        return int(self.rule["pods"])

    @property
    def kind_version(self) -> str:
        """NAME@VERSION of an administrator's definition; "" of a built-in one, which has no versions."""
        named = str(self.rule["definition"])
        return named if "@" in named else ""

    @property
    def scale(self) -> str:
        """JSON pointer of the number that multiplies all pods; "" where none does."""
        return str(self.rule.get("scale") or "")

    @property
    def replicas(self) -> int:
        """That number, as the object declares it; 1 where there is none."""
        values = (each["value"] for each in self.rule["run"] if each["path"] == self.scale)
        return int(next(values, 1))

    def as_written(self, manifest: JsonView) -> Iterator[JsonView]:
        """The object as it is created in a member, and as it runs there."""
        made: JsonView = manifest
        for each in self.filled:
            made = with_value(made, each["path"], each["value"])
        for part in ("held", "run"):
            for each in self.rule[part]:
                made = with_value(made, each["path"], each.get("value"))
            yield made

    def at_scale(self, pods: int | None) -> Self:
        """The form of an object that runs with this many pods of all that it declares; None: with all."""
        if pods is None or not self.scale:
            return self
        replicas = self.replicas * pods // self.pods
        run = [
            {**each, "value": replicas} if each["path"] == self.scale else each
            for each in self.rule["run"]
        ]
        return replace(self, rule={**self.rule, "run": run, "pods": pods})

    def as_json(self) -> Json:
        """As the store keeps it."""
        return {
            "rule": self.rule,
            "pod_sets": list(self.pod_sets),
            "filled": list(self.filled),
            "removed": list(self.removed),
            "ttl_s": self.ttl_s,
            **({"classes": dict(self.classes)} if self.classes else {}),
        }

    @classmethod
    def from_json(cls, told: JsonView) -> Self:
        """As `as_json` wrote it."""
        return cls(
            told["rule"],
            told["pod_sets"],
            told["filled"],
            told["removed"],
            told.get("ttl_s"),
            told.get("classes", {}),
        )

"""What a definition says of a kind: a Karta (`run.ai/v1alpha1`) and the extension for what Karta leaves out.

Values only; `shared.workkinds.parse_karta` and `parse_extension` make them of documents. Expressions are
texts of the language behind `shared.workkinds.language`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

STATES: Final = (
    "initializing", "running", "completed", "failed", "suspending", "suspended", "resuming", "degraded",
)  # fmt: skip
HUB: Final = "hub"  # holding: the object is not applied anywhere while it waits


class KindName(NamedTuple):
    """Group, version and kind."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@dataclass(frozen=True, slots=True)
class Component:
    """A part of an object that may run pods. It says `template`, `pod_spec`, `fragments`, or none."""

    name: str
    owner: str = ""
    template: str = ""
    pod_spec: str = ""
    fragments: Mapping[str, str] = field(default_factory=dict)
    scaled: bool = False  # is there a scaleDefinition at all?
    replicas: str = ""
    min_replicas: str = ""
    instance_id: str = ""

    @property
    def has_pods(self) -> bool:
        return bool(self.template or self.pod_spec or self.fragments)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a condition must be; "" where it may be anything."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Matcher:
    """All that is said must hold."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    expression: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class StatusDefinition:
    """Where conditions and the phase are, and what means which state: any matcher of a state will do."""

    conditions_path: str = ""
    fields: Mapping[str, str] = field(
        default_factory=dict
    )  # of a condition: the name of each field
    phase_path: str = ""
    mappings: Mapping[str, tuple[Matcher, ...]] = field(default_factory=dict)


class Assignment(NamedTuple):
    """The value of an expression is written at a path, if `when` is true; "" is always."""

    path: str
    value: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Karta:
    """How a kind is built. Components stand in document order, the root first."""

    name: str
    of: KindName
    components: tuple[Component, ...]
    status: StatusDefinition
    suspend: tuple[Assignment, ...] = ()
    resume: tuple[Assignment, ...] = ()


class Rule(NamedTuple):
    """What to say of an object of which `when` is true."""

    when: str
    message: str


@dataclass(frozen=True, slots=True)
class PodSetRule:
    """Of a component: the name of its pod sets ("" is the component's), and how few pods will do."""

    component: str
    name: str = ""
    min_count: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """What the operator adds to the pods of a component: a container, or least requests of the first one."""

    component: str
    when: str = ""
    container: str = ""
    init_container: str = ""
    at_least: Mapping[str, str] = field(default_factory=dict)


class Known(NamedTuple):
    """A map whose keys must all be listed."""

    path: str
    keys: tuple[str, ...]


class Child(NamedTuple):
    """The kind whose objects are the units of work; `path` leads to metadata and spec of one."""

    of: KindName
    path: str


@dataclass(frozen=True, slots=True)
class Extension:
    """What the queue must know of a kind and Karta does not say; the defaults are safe."""

    work_class: str = "job"
    plugin: str = ""
    defaults: tuple[Assignment, ...] = ()
    pod_sets: tuple[PodSetRule, ...] = ()
    extras: tuple[Extra, ...] = ()
    known: tuple[Known, ...] = ()
    refuse: tuple[Rule, ...] = ()
    unmanaged: tuple[Rule, ...] = ()
    workloads: str = ""
    holding: str = ""
    priority_paths: tuple[str, ...] = ()
    queue_paths: tuple[str, ...] = ()
    child: Child | None = None
    managed_by: Assignment | None = None
    scale: Assignment | None = None  # of 0 nothing runs: how a whole object is held in a member
    ready: str = ""
    active: str = ""

    @property
    def held_by(self) -> str:
        """Where the hub and members hold an object, if not by its suspend actions; "": by those.

        One that scales is held at 0, whatever holds its pods in a cluster where it is applied as it is.
        """
        return self.holding if self.scale is None else self.scale.path.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind. `extension` None: there is none, and the safe defaults hold. `trusted`: Roadstead's own."""

    karta: Karta
    extension: Extension | None
    trusted: bool
    source: str  # the file

    @property
    def extended(self) -> Extension:
        return self.extension or _SAFE

    @property
    def of(self) -> KindName:
        return self.karta.of


_SAFE: Final = Extension()

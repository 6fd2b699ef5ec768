"""Apply options of a work in addition to its manifest: decided at its first offering, fixed for its epoch."""

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import Final, Self

from shared.documents import Json, JsonView


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Options of one work; None and empty: not decided, and nothing of it is kept.

    Of a Job: `parallelism` as admitted, where that is less than is `wanted` (of other kinds: all pods);
    `node_selector` and `tolerations` of its flavors and its admission checks, `pod_labels` and
    `pod_annotations` of its checks; `pod_sets`: these four by the name of a pod set, where a workload has
    several of them (other kinds than Job); `nodes`, by name, which its pods prefer: others left them for it,
    and `other_nodes`, which they prefer to leave to others; `suspend` where the queue manager of LocalQueue
    `queue` starts it there; `session` that its epoch was first offered to;
    `doubtful`: where its job is now is not known. Of an object: `abandon` it where it is no longer wanted,
    which changes nothing of how it is applied; `force` over fields of others, always or never, or (None)
    where the object is ours; `co_ownership`: it may have owners in the member;
    `compare_all`: also what the manifest does not name; `compare_only`: nothing is written;
    `report_status`: the agent reports the object's own status;
    `envelope`: that it lies in, kind/namespace/name, which changes nothing of it;
    `restore`: the content, and how many times, that a person has had written over drift;
    `object_uid`: the one object in the member that a person decided about, where nothing is wanted.
    """

    parallelism: int | None = None
    wanted: int | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonView, ...] = ()
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    pod_sets: Mapping[str, JsonView] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    other_nodes: tuple[str, ...] = ()
    suspend: bool | None = None
    queue: str | None = None
    when_to_apply: str = ""
    when_to_take_over: str = ""
    placed_by: str | None = None  # kind and name of what placed it
    ttl_s: int | None = None
    session: str = ""
    doubtful: bool = False
    abandon: bool = False
    force: bool | None = None
    co_ownership: bool = False
    compare_all: bool = False
    compare_only: bool = False
    report_status: bool = False
    restore: str = ""
    envelope: str = ""
    object_uid: str = ""

    def as_json(self) -> Json:
        """The options, as the store keeps them."""
        found: Json = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and (value or name in _KEPT_EMPTY):
                found[name] = list(value) if name in _LISTS else value
        return found

    def of_pod_set(self, name: str) -> Self:
        """What is added to the pods of one pod set."""
        told = self.pod_sets.get(name)
        if told is None:
            return self
        return replace(
            self,
            node_selector=told.get("node_selector") or {},
            tolerations=tuple(told.get("tolerations") or ()),
            pod_labels=told.get("pod_labels") or {},
            pod_annotations=told.get("pod_annotations") or {},
        )

    def hashed(self) -> Json:
        """The options that change how a work is applied."""
        found = self.as_json()
        found.pop("abandon", None)
        found.pop("envelope", None)
        return found

    @classmethod
    def from_json(cls, told: JsonView) -> Self:
        """As `as_json` wrote it; what is not known is left out."""
        known = {name: value for name, value in told.items() if name in _NAMES}
        known |= {name: tuple(known[name]) for name in _LISTS & known.keys()}
        return cls(**known)


def steered(options: ApplyOptions, nodes: Iterable[str], kept: AbstractSet[str]) -> ApplyOptions:
    """The same for pods that prefer `nodes`, and leave the others on which room is `kept` to others."""
    own = frozenset(nodes)
    return replace(options, nodes=_named(own), other_nodes=_named(kept - own))


def _named(nodes: AbstractSet[str]) -> tuple[str, ...]:
    return tuple(sorted(nodes)[:_MOST_NAMED])


_MOST_NAMED: Final = 200  # nodes in an affinity
_LISTS: Final = frozenset({"tolerations", "nodes", "other_nodes"})
_NAMES: Final = tuple(each.name for each in fields(ApplyOptions))
_KEPT_EMPTY: Final = frozenset(
    {"parallelism", "wanted", "suspend", "queue", "placed_by", "ttl_s", "force"}
)
NONE: Final = ApplyOptions()

"""How a work is applied beside its manifest: decided at its first offering, fixed for its epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Self

from shared.documents import Json, JsonView


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Options of one work; None and empty: not decided, and nothing of it is kept.

    Of a Job: `parallelism` as admitted, where that is less than is `wanted`; `node_selector` and
    `tolerations` of its flavors and its admission checks, `pod_labels` and `pod_annotations` of its
    checks; `suspend` where the queue manager of LocalQueue `queue` starts it there; `session` that its
    epoch was first offered to; `doubtful`: where its job is now is not known. Of an object: `abandon` it
    where it is no longer wanted, which changes nothing of how it is applied; `force` over fields of others,
    always or never, or (None) where the object is ours; `co_ownership`: it may have owners in the member;
    `compare_all`: also what the manifest does not name; `compare_only`: nothing is written;
    `report_status`: its own status is asked for;
    `envelope`: that it lies in, kind/namespace/name, which changes nothing of it;
    `restore`: the content, and how many times, that a person has had written over drift.
    """

    parallelism: int | None = None
    wanted: int | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonView, ...] = ()
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
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

    def as_json(self) -> Json:
        """What is decided, as the store keeps it."""
        found: Json = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and (value or name in _KEPT_EMPTY):
                found[name] = list(value) if name == "tolerations" else value
        return found

    def hashed(self) -> Json:
        """What of it changes how a work is applied."""
        found = self.as_json()
        found.pop("abandon", None)
        found.pop("envelope", None)
        return found

    @classmethod
    def from_json(cls, told: JsonView) -> Self:
        """As `as_json` wrote it; what is not known is left out."""
        known = {name: value for name, value in told.items() if name in _NAMES}
        if "tolerations" in known:
            known["tolerations"] = tuple(known["tolerations"])
        return cls(**known)


_NAMES: Final = tuple(each.name for each in fields(ApplyOptions))
_KEPT_EMPTY: Final = frozenset(
    {"parallelism", "wanted", "suspend", "queue", "placed_by", "ttl_s", "force"}
)
NONE: Final = ApplyOptions()

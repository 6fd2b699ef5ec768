"""Rules for pods: a level of the standards, and further allowed fields."""

import functools
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, cast

Level = Literal["privileged", "baseline", "restricted"]
LEVELS: Final[tuple[Level, ...]] = ("privileged", "baseline", "restricted")
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
# Of namespaces that nothing is placed in: a cluster's own, and Roadstead's.
DENIED_NAMESPACES: Final = "kube-*,roadstead,roadstead-system"
# Fields that only an administrator can open. The last three are harmless enough to be open by default.
FIELDS: Final = frozenset(
    {
        "nodeName",
        "csi",
        "terminationGracePeriodSeconds",
        "tolerateEverything",
        "controlPlane",
        "hostUsers",
        "hostAliases",
        "runtimeClassName",
        "automountServiceAccountToken",
    }
)
OPEN_FIELDS: Final = "hostAliases,runtimeClassName,automountServiceAccountToken"
NONE: Final = "none"  # in a list: nothing, for an empty setting is one that is not set


@dataclass(frozen=True, slots=True)
class Rules:
    """Texts are lists by comma. `level` is that of namespaces which name none.

    `service_accounts`: NAME or NAMESPACE/NAME. `priority_classes` and `namespaces` are patterns with
    `*`; classes of the system have to be named in full. `levels`: NAMESPACE=LEVEL.
    """

    level: Level = "baseline"
    levels: str = ""
    namespaces: str = "*"
    denied_namespaces: str = DENIED_NAMESPACES
    service_accounts: str = "default"
    schedulers: str = "default-scheduler"
    priority_classes: str = "*"
    token_audiences: str = ""
    fields: str = OPEN_FIELDS

    def __post_init__(self) -> None:
        """Raises ValueError for a level or a field that does not exist."""
        if self.level not in LEVELS:
            raise ValueError(
                f"Pod Security level {self.level}: expected one of {', '.join(LEVELS)}"
            )
        if unknown := listed(self.fields) - FIELDS - {NONE}:
            expected = ", ".join(sorted(FIELDS))
            raise ValueError(f"fields {', '.join(sorted(unknown))}: expected some of {expected}")
        for each in listed(self.levels):
            if each.partition("=")[2] not in LEVELS:
                raise ValueError(
                    f"Pod Security level of a namespace, {each}: expected NAMESPACE=LEVEL, "
                    f"of {', '.join(LEVELS)}"
                )

    def level_of(self, namespace: str) -> Level:
        """The level of a namespace that says nothing itself."""
        return _levels(self.levels).get(namespace, self.level)

    def admits(self, namespace: str) -> bool:
        """May anything be placed in this namespace?"""
        return _admits(namespace, self.namespaces, self.denied_namespaces)


def level_named(text: str) -> Level:
    """The level that a namespace's label names; like Kubernetes', a misspelt one is restricted."""
    return text if text in LEVELS else "restricted"


@functools.cache
def listed(text: str) -> frozenset[str]:
    """The parts of a list by comma."""
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def matches(name: str, patterns: str) -> bool:
    """True if one of the patterns by comma matches this name."""
    return any(fnmatchcase(name, pattern) for pattern in listed(patterns))


@functools.lru_cache(maxsize=4096)
def _admits(namespace: str, allowed: str, denied: str) -> bool:
    return matches(namespace, allowed) and not matches(namespace, denied)


@functools.cache
def _levels(text: str) -> dict[str, Level]:
    pairs = (each.partition("=") for each in listed(text))
    return {namespace: cast("Level", level) for namespace, _, level in pairs}

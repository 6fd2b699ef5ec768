"""The stages of a staged update: which cluster belongs to which, in which order, how many at once. Pure.

KubeFleet's rules: every chosen cluster falls into exactly one stage; inside a stage they go by a label
that is read as a whole number, then by name; clusters without that label come last. A percent of a
stage's clusters is rounded down, and is never less than one.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.selectors import LabelSelector

_WHOLE: Final = re.compile(r"^[-+]?[0-9]{1,18}$")
_MOST_NAMED: Final = 3


class StagesUnfit(Exception):
    """A strategy does not fit the clusters of a placement; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage as its strategy has it. `selector` None: no cluster; `sorting_key` "": by name alone.

    `before` and `after`: its tasks in order; None is an approval, else how long is waited.
    """

    name: str
    selector: LabelSelector | None = None
    sorting_key: str = ""
    concurrency: int | str = 1
    before: tuple[dt.timedelta | None, ...] = ()
    after: tuple[dt.timedelta | None, ...] = ()

    def at_once(self, clusters: int) -> int:
        """The number of its clusters that may be updated together."""
        if isinstance(self.concurrency, int):
            return max(1, self.concurrency)
        return max(1, int(self.concurrency.removesuffix("%")) * clusters // 100)


def in_stages(
    stages: Sequence[Stage], clusters: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, ...]]:
    """The clusters of each stage, in order. `clusters`: labels by name. Raises StagesUnfit."""
    found = [
        [
            name
            for name, labels in clusters.items()
            if stage.selector is not None and stage.selector.matches(labels)
        ]
        for stage in stages
    ]
    homes: dict[str, list[str]] = {name: [] for name in clusters}
    for stage, names in zip(stages, found, strict=True):
        for name in names:
            homes[name].append(stage.name)
    twice = sorted(name for name, where in homes.items() if len(where) > 1)
    if twice:
        text = f"cluster {twice[0]} is in stages {' and '.join(homes[twice[0]][:2])}"
        raise StagesUnfit(f"{text}{_more(twice)}: a cluster belongs to one stage")
    nowhere = sorted(name for name, where in homes.items() if not where)
    if nowhere:
        text = ", ".join(nowhere[:_MOST_NAMED])
        more = f" and {len(nowhere) - _MOST_NAMED} more" if len(nowhere) > _MOST_NAMED else ""
        raise StagesUnfit(f"no stage selects {text}{more}: every chosen cluster needs one")
    return [_ordered(stage, names, clusters) for stage, names in zip(stages, found, strict=True)]


def _ordered(
    stage: Stage, names: Sequence[str], clusters: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: _place(name, stage.sorting_key, clusters[name])))


def _place(name: str, key: str, labels: Mapping[str, str]) -> tuple[bool, int, str]:
    """The position of a cluster in its stage. Raises StagesUnfit for a label that is no whole number."""
    value = labels.get(key) if key else None
    if value is None:
        return True, 0, name
    if not _WHOLE.match(value):
        raise StagesUnfit(f"label {key} of cluster {name} is {value[:63]}: a whole number sorts")
    return False, int(value), name


def _more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more clusters are in several)" if len(names) > 1 else ""

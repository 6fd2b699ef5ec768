"""Sets of completion indexes in the compressed text of `status.completedIndexes`: `1,3-5,7`.

Pure. The grammar and its tolerance of bad parts are those of Kubernetes'
pkg/controller/job/indexed_job_utils.go.
"""

from collections.abc import Iterable, Iterator
from typing import Any

INDEX_KEY = "batch.kubernetes.io/job-completion-index"


def parse(text: str, completions: int) -> set[int]:
    """The indexes below `completions` that `text` names; parts that are no interval are ignored."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            continue
        start = int(first)
        end = min(int(last) if dash else start, completions - 1)
        found.update(range(start, end + 1))
    return found


def render(indexes: Iterable[int]) -> str:
    """The compressed text; two neighbours are written `1,2`, three or more `1-3`."""
    return ",".join(_interval(first, last) for first, last in _intervals(sorted(indexes)))


def first_missing(taken: set[int], count: int, completions: int) -> list[int]:
    """The lowest `count` indexes below `completions` that are not in `taken`."""
    missing: list[int] = []
    for index in range(completions):
        if len(missing) >= count:
            break
        if index not in taken:
            missing.append(index)
    return missing


def of_annotations(annotations: dict[str, Any] | None) -> int | None:
    """A pod's completion index, or None if it has none that can be read."""
    text = (annotations or {}).get(INDEX_KEY)
    return int(text) if isinstance(text, str) and text.isdecimal() else None


def _intervals(ordered: list[int]) -> Iterator[tuple[int, int]]:
    start = previous = None
    for index in ordered:
        if previous is not None and start is not None and index > previous + 1:
            yield start, previous
            start = index
        elif start is None:
            start = index
        previous = index
    if start is not None and previous is not None:
        yield start, previous


def _interval(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"

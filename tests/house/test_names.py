"""Names come from the field's vocabulary (docs/reference/glossary.md), not from habit."""

import re
from pathlib import Path

from tests.house import sources
from tests.house.outlines import outline_of

VAGUE = (
    "manager",
    "handler",
    "util",
    "utils",
    "data",
    "info",
    "helper",
    "helpers",
    "common",
    "misc",
)
# Private words for what the field has a name for; none is part of the name of a module.
METAPHORS = (
    "bench",
    "bid",
    "contender",
    "desk",
    "door",
    "given",
    "ground",
    "heads",
    "ladder",
    "lives",
    "looking",
    "market",
    "pulse",
    "roster",
    "rung",
    "scenes",
    "sight",
    "stand",
    "standing",
    "teller",
    "telling",
    "tellings",
    "told",
    "tournament",
    "wish",
)
# Words of the field that end in one of those all the same.
TERMS = ("QueueManager",)


def _words(name: str) -> list[str]:
    """`QuotaManager` and `quota_manager` both give `quota`, `manager`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def test_no_module_has_a_vague_name() -> None:
    """No file or folder of source is called manager, util, data and the like."""
    vague = [
        str(path)
        for path in sources.python_files()
        if any(word in VAGUE for part in path.with_suffix("").parts for word in _words(part))
    ]
    assert vague == []


def test_no_class_has_a_vague_name() -> None:
    """No class of the product ends in Manager, Handler, Util, Data and the like."""
    vague = [
        f"{path}:{each.line} {each.name}"
        for path in sources.python_files()
        if path.parts[0] != "tests"
        for each in outline_of(path).classes
        if each.name not in TERMS
        if _words(each.name)[-1] in VAGUE
    ]
    assert vague == []


def test_no_module_is_named_by_a_metaphor() -> None:
    """Whoever knows Kueue and Kubernetes guesses what a file holds."""
    named = [
        str(path)
        for path in sources.python_files()
        if path.parts[0] != "bench"
        and any(word in METAPHORS for part in path.parts[1:] for word in _words(Path(part).stem))
    ]
    assert named == []


def test_a_class_name_has_one_meaning() -> None:
    """No two classes of one root share a name; kinds that have several API versions are one kind."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sources.python_files():
        if path.parts[0] in {"tests", "bench"} or path.parts[:2] == ("shared", "kinds"):
            continue
        for each in outline_of(path).classes:
            found.setdefault((path.parts[0], each.name), []).append(str(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}

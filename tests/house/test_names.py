"""Names come from the field's vocabulary (docs/reference/glossary.md), not from habit."""

import ast
import re

from tests.house import sources

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
        f"{path}:{node.lineno} {node.name}"
        for path in sources.python_files()
        if path.parts[0] != "tests"
        for node in ast.walk(sources.tree_of(path))
        if isinstance(node, ast.ClassDef) and node.name not in TERMS
        if _words(node.name)[-1] in VAGUE
    ]
    assert vague == []


# Words of a private language, where the field has one: Kueue's, Kubernetes' or none at all.
METAPHORS = {
    "bench", "bid", "contender", "desk", "door", "given", "ground", "grounds", "hear", "heard", "holding",
    "holdings", "ladder", "look", "market", "picture", "pulse", "roster", "rung", "sight", "standing",
    "standings", "telling", "tellings", "told", "wish", "wishes",
}  # fmt: skip
# Kubernetes' own kinds, one module a version: their names are the API's.
_OF_THE_API = re.compile(r"^shared/kinds/(.*_(v\d\w*|status)|model)\.py$")


def test_no_module_is_named_by_a_metaphor() -> None:
    """Whoever knows Kueue and Kubernetes guesses what stands in a file."""
    private = [
        str(path)
        for path in sources.python_files()
        if path.parts[0] in {"agent", "hub", "shared"}
        if any(word in METAPHORS for part in path.with_suffix("").parts for word in _words(part))
    ]
    assert private == []


def test_a_class_name_has_one_meaning() -> None:
    """No two classes of one root share a name, but for versions of one kind of the API."""
    places: dict[tuple[str, str], list[str]] = {}
    for path in sources.python_files():
        if path.parts[0] not in {"agent", "hub", "shared"} or _OF_THE_API.match(str(path)):
            continue
        for node in ast.walk(sources.tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault((path.parts[0], node.name), []).append(str(path))
    assert [(name, files) for name, files in places.items() if len(files) > 1] == []

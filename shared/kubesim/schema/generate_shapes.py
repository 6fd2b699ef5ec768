"""Makes `shared/kinds/shapes.json`: the types of all that a Job's pods and policies may hold.

A tool for developers: `python -m shared.kubesim.schema.generate_shapes`, after `builtin_schemas.json` was
made anew. What the intake checks is a small part of what the simulated API server knows, under shorter
names; it reads a file of its own, because the hub does not depend on the simulator.
"""

from pathlib import Path
from typing import Any, Final

import orjson

from shared.kubesim.schema import field_types

OUTPUT = Path(__file__).parents[2] / "kinds" / "shapes.json"
_ROOTS: Final = (
    "api.core.v1.PodSpec",
    "api.batch.v1.PodFailurePolicy",
    "api.batch.v1.SuccessPolicy",
)


def shapes() -> dict[str, dict[str, str]]:
    """Definition → field → type, of what can be reached from the roots.

    A type is `@Definition`, `[` or `{` (list, map) and the type of what is in it, or a scalar's name.
    """
    rows = field_types.definitions()
    found: dict[str, str] = {}
    left = [*_ROOTS]
    while left:
        name = left.pop()
        short = name.rpartition(".")[2]
        if found.setdefault(short, name) != name:
            raise ValueError(f"two definitions are called {short}")
        fields = (entry["t"] for field, entry in rows[name].items() if field)
        below = {text.lstrip("[{")[1:] for text in fields if "@" in text}
        left += sorted(below - set(found.values()))
    return {short: _fields(rows[found[short]]) for short in sorted(found)}


def _fields(row: dict[str, Any]) -> dict[str, str]:
    return {field: _shortened(entry["t"]) for field, entry in sorted(row.items()) if field}


def _shortened(text: str) -> str:
    head, at, name = text.partition("@")
    return f"{head}@{name.rpartition('.')[2]}" if at else text


def rendered() -> bytes:
    return orjson.dumps(shapes(), option=orjson.OPT_INDENT_2) + b"\n"


if __name__ == "__main__":
    OUTPUT.write_bytes(rendered())

"""Tables of docs/reference that are written from the code: `python -m tests.house.reference` writes them.

Such a table stands between `<!-- from the code: NAME -->` and `<!-- end -->`; a test holds it equal to
what is rendered here.
"""

import ast
import dataclasses
import datetime as dt
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fastapi.routing import APIRoute

from hub.api import agents
from hub.api.app import HOT, ROUTERS
from hub.api.policy import policy_of
from hub.domain.workloads.states import TERMINAL, TRANSITIONS
from hub.services.context.settings import Settings
from shared.workkinds.catalog import FOLDER as FOLDER_OF_KINDS, builtin_catalog
from shared.workkinds.definition import Definition
from shared.workkinds.jq_syntax import FUNCTIONS
from tests.charts import values_table
from tests.house import sources

FOLDER = Path("docs/reference")
_TABLE = re.compile(
    r"(?P<begin><!-- from the code: (?P<name>[a-z]+) -->\n).*?(?P<end>^<!-- end -->)",
    re.MULTILINE | re.DOTALL,
)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def routes() -> str:
    """Every route but the live page's: operation, who may call it, and the first sentence of what it does."""
    routers = (*HOT, *ROUTERS, agents.router)
    found = {
        (route.path, method): route
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    rows = (
        (
            f"`{method} {path}`",
            f"`{route.operation_id or route.unique_id}`",
            ", ".join(sorted(policy_of(route.endpoint) or ())),
            _first_line(route.endpoint.__doc__),
        )
        for (path, method), route in sorted(found.items())
    )
    return table(("route", "operation", "who", "what"), rows)


_SETTINGS = (
    Path("hub/services/context/settings.py"),
    Path("hub/services/access/sign_in/terms.py"),
)


def settings() -> str:
    """What an administrator may set of a hub: variable, default, meaning."""
    return table(("variable", "default", "meaning"), _settings())


def _settings() -> Iterator[tuple[str, str, str]]:
    meanings: dict[tuple[str, str], str] = {}
    for path in _SETTINGS:
        meanings |= _attribute_docs(path)
    limits = Settings()
    for concern in dataclasses.fields(limits):
        record = getattr(limits, concern.name)
        for each in dataclasses.fields(record):
            if not each.init:
                continue
            kind = type(record).__name__
            meaning = meanings.get((kind, each.name)) or (
                f"{_first_line(type(record).__doc__).rstrip('.')}: {each.name.replace('_', ' ')}"
            )
            variable = f"ROADSTEAD_{concern.name}_{each.name}".upper()
            yield f"`{variable}`", _shown(getattr(record, each.name)), meaning


def transitions() -> str:
    """Every transition of a job: its name, the states it starts from, the one it ends in."""
    rows = (
        (f"`{name}`", ", ".join(sorted(before)), f"**{after}**" if after in TERMINAL else after)
        for name, (before, after) in TRANSITIONS.items()
    )
    return table(("transition", "from", "to"), rows)


def hub_chart() -> str:
    """What may be set of the hub's chart."""
    return table(("value", "default", "meaning"), values_table.rows("roadstead-hub"))


def agent_chart() -> str:
    """What may be set of the agent's chart."""
    return table(("value", "default", "meaning"), values_table.rows("roadstead-agent"))


def kinds() -> str:
    """Every kind that is built in: how its pods are read, and where it is held."""
    return table(("kind", "class", "pod sets", "held by", "summary"), _kinds())


def _kinds() -> Iterator[tuple[str, str, str, str, str]]:
    for each in builtin_catalog():
        extended = each.extended
        paths = [action.path.removeprefix(".") for action in each.karta.suspend]
        has_pods = extended.work_class in {"job", "service", "per-pod"}
        held = extended.held_by or ", ".join(paths) or "hub"
        yield (
            f"`{each.of}`",
            extended.work_class,
            f"plug-in `{extended.plugin}`" if extended.plugin else _pod_sets(each),
            f"`{held}`" if has_pods else "",
            _comment(FOLDER_OF_KINDS / each.source),
        )


def _pod_sets(definition: Definition) -> str:
    """Components that run pods, in order, by the names of their pod sets."""
    names = {each.component: each.name or each.component for each in definition.extended.pod_sets}
    running = [each.name for each in definition.karta.components if each.has_pods]
    ordered = [*(n for n in names if n in running), *(n for n in running if n not in names)]
    return ", ".join(
        f"each `{name}`" if names.get(name) == "$instance" else f"`{names.get(name, name)}`"
        for name in ordered
    )


def _comment(path: Path) -> str:
    return path.read_text().partition("\n")[0].removeprefix("# ")


def jq_functions() -> str:
    """The functions that an expression of a definition may call."""
    rows = (
        (f"`{name}`", " or ".join(str(number) for number in sorted(numbers)))
        for name, numbers in sorted(FUNCTIONS.items())
    )
    return table(("function", "arguments"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "routes": routes,
    "settings": settings,
    "transitions": transitions,
    "hubchart": hub_chart,
    "agentchart": agent_chart,
    "kinds": kinds,
    "functions": jq_functions,
}


def rendered(text: str) -> str:
    """A page with its tables written anew."""
    return _TABLE.sub(lambda m: f"{m['begin']}\n{TABLES[m['name']]()}\n{m['end']}", text)


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _shown(value: object) -> str:
    if isinstance(value, dt.timedelta):
        return f"{value.total_seconds():.0f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _attribute_docs(path: Path) -> dict[tuple[str, str], str]:
    """The strings that stand after the attributes of each class."""
    found = {}
    for node in sources.tree_of(path).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for before, after in zip(node.body, node.body[1:], strict=False):
            text = _string(after)
            if isinstance(before, ast.AnnAssign) and text:
                assert isinstance(before.target, ast.Name)
                found[(node.name, before.target.id)] = _first_line(text)
    return found


def _string(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value)
    return ""


if __name__ == "__main__":
    for page in sorted((sources.REPOSITORY / FOLDER).glob("*.md")):
        before = page.read_text()
        after = rendered(before)
        if after != before:
            page.write_text(after)
            sys.stdout.write(f"{page.name} written\n")

"""No rule and no page reads a fact out of a sentence: events and rows have fields."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TAKES_APART = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "split", "partition", "rpartition"}
    | {"find", "index", "splitlines", "rsplit"}
)
# Where a message is taken apart all the same, and why.
ALLOWED = {
    "hub/services/explain/avoided.py": "layout: the line names the cluster already",
    "hub/bridge/events.py": "layout: the first line",
    "hub/controllers/history_log.py": "layout: the first line",
    "hub/web/fleet_view.py": "layout: the first line",
    "hub/web/fleet_pages/lines.py": "layout: the first line",
    "hub/web/job_page/happened.py": "layout: the first line, and those below it",
    "hub/bridge/protection.py": "an API server names the policy that refused in its message alone",
    "agent/member/refusals.py": "an API server names the policy that refused in its message alone",
    "roadstead/cli/explain.py": "layout: the first line, and those below it",
    "roadstead/cli/jobs.py": "layout: the first line, and those below it",
    "roadstead/cli/events.py": "layout: the first line",
}


def sources() -> Iterator[Path]:
    for folder in ("hub", "agent", "roadstead"):
        yield from sorted((REPOSITORY / folder).rglob("*.py"))


def is_message(node: ast.expr) -> bool:
    """`x.message`, `x["message"]`, `x.get("message")`."""
    match node:
        case ast.Attribute(attr="message"):
            return True
        case ast.Subscript(slice=ast.Constant(value="message")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="message"), *_]):
            return True
    return False


def taken_apart(tree: ast.AST) -> list[int]:
    """Lines on which a message is searched or split."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in TAKES_APART:
                parts = [of]
            case ast.Call(func=ast.Attribute(attr="search" | "match" | "findall"), args=parts):
                pass
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=parts):
                pass
            case _:
                continue
        if any(is_message(each) for each in parts):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "line",
    [
        'if " used" not in row.message: pass',
        'route.message.startswith("ClusterQueue")',
        'x["message"].partition(",")',
        'waiting.get("message").split()',
        "re.search(pattern, event.message)",
    ],
)
def test_a_reader_of_sentences_is_found(line: str) -> None:
    """Searching, splitting and comparing parts of a message."""
    assert taken_apart(ast.parse(line)) == [1]


def test_no_code_reads_facts_out_of_sentences() -> None:
    """Use the fields of events (cluster, epoch, cause, subject) and the columns of rows."""
    found = {
        str(path.relative_to(REPOSITORY)): lines
        for path in sources()
        if "message" in (text := path.read_text())  # to parse costs far more
        if (lines := taken_apart(ast.parse(text)))
    }
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert sorted(found) == sorted(ALLOWED), "what is allowed is still there"

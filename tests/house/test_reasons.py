"""No rule reads the words of a reason: they are for people, and the next writer replaces them.

Decisions stand in columns of their own (`retry_epoch`, `held_for`, `withdraw_to`). The table lists who
compares a reason all the same, how often, and why that decides nothing that a row must remember.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("hub/domain", "hub/services", "hub/store", "hub/controllers", "hub/bridge")
_NAMES = frozenset({"reason", "workload_reason"})

CYCLE = "the verdict of the present cycle or the present look, held in memory"
REPORT = "a code of the agent's report that is being judged"
SHOWN = "which words are shown, and whether they are written anew"
OLDER = "rows of hubs of the release before, which keep no column; goes when BESIDE is empty"

# module → how many lines compare a reason, and why they may
ALLOWED = {
    "hub/bridge/condition.py": (4, "the bridge's own state, in memory"),
    "hub/bridge/events.py": (1, SHOWN),
    "hub/bridge/job_status.py": (1, SHOWN),
    "hub/domain/admission/flavor_assigner.py": (1, CYCLE),
    "hub/domain/placement/cluster_search.py": (1, CYCLE),
    "hub/domain/queueing/eligibility.py": (2, CYCLE),
    "hub/domain/queueing/pending.py": (4, CYCLE),
    "hub/domain/rollout/removal.py": (1, REPORT),
    "hub/domain/workloads/chains.py": (1, OLDER),
    "hub/domain/workloads/course.py": (3, SHOWN),
    "hub/services/chains/bind.py": (1, SHOWN),
    "hub/services/chains/settle.py": (2, SHOWN),
    "hub/services/context/hub_cluster.py": (4, "the word of a person that names a stop of the bridge"),
    "hub/services/explain/as_it_is_now.py": (2, CYCLE),
    "hub/services/explain/avoided.py": (2, SHOWN),
    "hub/services/explain/job.py": (5, SHOWN),
    "hub/services/explain/plan_jobs.py": (2, CYCLE),
    "hub/domain/placement/plugins/consent.py": (1, "the code that the filter itself gave, for a message"),
    "hub/services/explain/study.py": (2, SHOWN),
    "hub/services/index/index.py": (2, CYCLE),
    "hub/services/index/pending_reasons.py": (3, SHOWN),
    "hub/services/index/reservations.py": (2, CYCLE),
    "hub/services/index/waiting/pending_rows.py": (8, SHOWN),
    "hub/services/index/waiting/stale_figures.py": (1, CYCLE),
    "hub/services/jobs/accept.py": (1, CYCLE),
    "hub/services/jobs/generations.py": (1, CYCLE),
    "hub/services/kueue_view/conditions.py": (6, SHOWN),
    "hub/services/live/last_lines.py": (2, SHOWN),
    "hub/services/members/api_servers.py": (2, SHOWN),
    "hub/services/members/faults.py": (1, "the code of the newest event, so that none is written twice"),
    "hub/services/members/judge.py": (9, REPORT),
    "hub/services/members/verdicts/retrying.py": (1, OLDER),
    "hub/services/works/later_epochs.py": (1, REPORT),
    "hub/services/members/liveness.py": (1, "the code of the member's last report, as the row keeps it"),
    "hub/services/members/observe.py": (2, REPORT),
    "hub/services/mirror/shown.py": (3, SHOWN),
    "hub/services/outside/executors.py": (1, REPORT),
    "hub/services/placements/outcome.py": (1, CYCLE),
    "hub/services/placements/place_jobs.py": (1, SHOWN),
    "hub/services/placements/reconcile.py": (2, CYCLE),
    "hub/services/placements/reporting.py": (3, REPORT),
    "hub/services/placements/roll_out.py": (1, CYCLE),
    "hub/services/placements/staged/drive.py": (1, SHOWN),
    "hub/services/placements/staged/external.py": (1, CYCLE),
    "hub/services/outside/executor_status.py": (1, REPORT),
    "hub/services/scheduling/lapses.py": (1, CYCLE),
    "hub/services/works/evict.py": (1, "the reason that the caller gives"),
    "hub/store/events.py": (1, SHOWN),
    "hub/store/placed_jobs.py": (1, SHOWN),
}  # fmt: skip


def _name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def readers(source: str) -> Iterator[int]:
    """Lines that compare something named reason, or match on it."""
    if "reason" not in source:  # to parse costs far more
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if not any(map(_is_none, sides)) and any(_name(each) in _NAMES for each in sides):
                yield node.lineno
        elif isinstance(node, ast.Match) and _name(node.subject) in _NAMES:
            yield node.lineno


def found() -> dict[str, int]:
    paths = (path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py")))
    counts = {str(p.relative_to(ROOT)): len(set(readers(p.read_text()))) for p in paths}
    return {path: count for path, count in counts.items() if count}


def test_no_new_rule_reads_a_reason():
    """Keep the decision in a column; or say in the table why this comparison decides nothing."""
    assert found() == {path: count for path, (count, _) in ALLOWED.items()}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('row.reason == "Retrying"', 1),
        ("work.workload_reason in _WORDS", 1),
        ('told["reason"] != WAITS', 1),
        ("row.reason is None", 0),
        ("row.state == reason_of(row)", 0),
    ],
)
def test_what_counts_as_reading_a_reason(line: str, count: int):
    """A comparison with a value, whatever the row is called."""
    assert len(list(readers(line))) == count

"""The generated parts of docs/explain/ownership.md: the tables of the gates, and all proofs with their rules.

`python -m tests.house.ownership` writes them; a test holds the page to them.
"""

import ast
from pathlib import Path
from typing import Final

from tests.house import sources
from tests.realkube.gates import table

PAGE: Final = sources.REPOSITORY / "docs" / "explain" / "ownership.md"
# Every test of these modules proves a rule of the page.
PROOFS: Final = (
    "tests/realkube/test_gates.py",
    "tests/realkube/test_ownership.py",
    "tests/realkube/test_consent.py",
    "tests/deploy/test_member_policy.py",
    "tests/deploy/test_hub_policies.py",
    "tests/agent/reconcile/test_taken_over.py",
    "tests/agent/reconcile/test_decided_objects.py",
    "tests/agent/reconcile/test_copied_marks.py",
    "tests/agent/reconcile/test_compared.py",
    "tests/agent/reconcile/test_put_back.py",
    "tests/agent/reconcile/test_children.py",
    "tests/agent/reconcile/test_parents.py",
    "tests/agent/reconcile/test_services.py",
    "tests/agent/reconcile/test_other_manifests.py",
    "tests/agent/member/test_foreign_marks.py",
    "tests/agent/hub/test_foreign_names.py",
    "tests/agent/reconcile/test_foreign_pods.py",
    "tests/agent/member/test_acceptance.py",
    "tests/agent/reconcile/test_consent.py",
    "tests/agent/reconcile/test_consent_in_queues.py",
    "tests/services/scheduling/test_consent.py",
    "tests/services/placements/test_consent.py",
    "tests/domain/placement/test_placed_consent.py",
    "tests/services/placements/test_queue_jobs.py",
    "tests/services/jobs/test_cron_beside_members.py",
)


def rules_of(path: Path) -> dict[str, str]:
    """The tests of a module, each with its rule: the first line of its docstring."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [each for each in ast.parse(path.read_text()).body if isinstance(each, functions)]
    return {
        each.name: (ast.get_docstring(each) or "").split("\n", 1)[0]
        for each in found
        if each.name.startswith("test_")
    }


def proofs() -> str:
    """One table for each module of PROOFS."""
    lines: list[str] = []
    for name in PROOFS:
        lines += [f"`{name}`:", "", "| test | rule |", "|---|---|"]
        found = rules_of(sources.REPOSITORY / name)
        lines += [f"| `{test}` | {rule.replace('|', '/')} |" for test, rule in found.items()]
        lines.append("")
    return "\n".join(lines).strip()


def parts() -> dict[str, str]:
    """What stands between the marks of the page."""
    return {
        "member": f"```text\n{table.MEMBER.strip()}\n```",
        "hub cluster": f"```text\n{table.HUB_CLUSTER.strip()}\n```",
        "proofs": proofs(),
    }


def with_parts(page: str) -> str:
    """The page, with its generated parts as they should be."""
    for name, text in parts().items():
        begin, end = f"<!-- generated: {name} -->", "<!-- end -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"the page has no part {name}"
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text()))

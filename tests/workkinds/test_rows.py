"""Every row of the table of kinds: what is read of its example."""

import pytest

from tests.workkinds.build import pods, read_all, rows


def _told(read):
    return {
        name: {"count": count, "requests": requests}
        for name, (count, requests) in pods(read).items()
    }


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["row"])
def test_a_row_is_read_as_the_table_says(row):
    """Outcome, workloads, pod sets in order, least counts, priority and way to be held."""
    (found,) = read_all(row["objects"])
    wanted = row["expect"]
    outcome = wanted.get("outcome", "managed")
    sets = wanted["podSets"]
    least = {name: said["minCount"] for name, said in sets.items() if "minCount" in said}
    assert found.outcome == outcome, found.reason
    assert found.workloads == wanted.get("workloads", 1 if outcome == "managed" else 0)
    told = {n: {k: v for k, v in s.items() if k != "minCount"} for n, s in sets.items()}
    assert _told(found) == told
    assert list(_told(found)) == list(sets)
    assert {e.name: e.min_count for e in found.pod_sets if e.min_count is not None} == least
    assert (found.priority_class or None) == wanted["priorityClass"]
    assert (found.suspend_path or None) == wanted["suspendPath"]
    if "child" in wanted:
        assert found.child.kind == wanted["child"]["kind"]
        assert _told(found.child) == wanted["child"]["podSets"]

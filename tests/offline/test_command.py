"""`roadstead simulate cycle`: its output for scripts, and what it says of unreadable input."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hub.domain.workloads.demand import CLUSTER_SELECTOR
from hub.offline.inputs.documents import Unreadable
from hub.offline.loads.trace import read_trace
from roadstead.cli.simulate import simulate
from tests.offline.build import Q, a_cohort, a_flavor, a_queue, a_workload, stamp

_KEYS = {
    "namespace", "name", "clusterQueue", "decision", "cluster", "podSets", "victims", "requeue",
    "reason", "message",
}  # fmt: skip


def _run(*args: object) -> Result:
    return CliRunner().invoke(simulate, ["cycle", *map(str, args)])


def _write(path: Path, *objects: object) -> Path:
    listed = [o for item in objects for o in (item if isinstance(item, list) else [item])]
    path.write_text(yaml.safe_dump_all(listed))
    return path


def test_the_answer_has_the_fixed_shape(tmp_path: Path) -> None:
    """Exit code 0 and one JSON object with decisions, queues and cohorts."""
    quota = _write(tmp_path / "quota.yaml", a_flavor(), a_queue("q", Q(5, 1), "all"))
    work = _write(tmp_path / "work.yaml", a_workload("w", "q", "1500m"), a_workload("v", "q"))
    done = _run(quota, work, "--now", stamp(), "-o", "json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.keys() == {"decisions", "queues", "cohorts"}
    v, w = answer["decisions"]
    assert v.keys() == w.keys() == _KEYS
    assert (v["decision"], w["reason"], w["requeue"]) == ("admitted", "NotConsidered", None)
    assert v["podSets"] == [
        {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "usage": {"cpu": "1"}}
    ]
    assert answer["queues"] == [
        {
            "clusterQueue": "q", "available": {"default": {"cpu": "5"}},
            "potential": {"default": {"cpu": "5"}}, "usage": {"default": {"cpu": "0"}},
            "weightedShare": 0,
        }
    ]  # fmt: skip
    assert answer["cohorts"] == [{"name": "all", "weightedShare": 0}]


def _bad_status() -> list[Any]:
    return [a_workload("w", "q", status={"requeueState": {"requeueAt": "soon"}})]


def _bad_selector() -> list[Any]:
    workload = a_workload("w", "q")
    workload["metadata"]["annotations"] = {CLUSTER_SELECTOR: "((("}
    return [workload]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([a_flavor(), a_queue("q", -1)[0]], ["document 2", "nominalQuota", "NegativeQuantity"]),
        (
            [a_queue("q", Q(5, 1))[0]],
            ["document 1", "resourceGroups[0].flavors[0].resources[0].borrowingLimit"],
        ),
        ([a_queue("q", Q(10, None, 11), "c")[0]], ["document 1", "lendingLimit"]),
        ([a_cohort("a", parent="b"), a_cohort("b", parent="a")], ["CohortCycle: a -> b -> a"]),
        ([a_queue("q", 1, weight=-1)[0]], ["spec.fairSharing.weight", "InvalidWeight"]),
        ([a_workload("w", "q", "10E")], ["document 1", "spec.podSets[0]", "QuantityTooLarge"]),
        (_bad_status(), ["document 1", "status.requeueState.requeueAt"]),
        (_bad_selector(), ["document 1", CLUSTER_SELECTOR, "InvalidSelector"]),
        ([{**a_flavor(), "spec": {"nodeLabel": {}}}], ["spec.nodeLabel", "UnknownField"]),
    ],
)
def test_unreadable_input_names_file_document_and_field(
    tmp_path: Path, objects: list[Any], said: list[str]
) -> None:
    """What can not be used is refused with its place; nothing is printed as an answer."""
    path = _write(tmp_path / "scene.yaml", *objects)
    done = _run(path, "--now", stamp(), "-o", "json")
    assert done.exit_code == 2
    assert done.stdout == ""
    for text in ["scene.yaml", *said]:
        assert text in done.stderr


def test_unreadable_settings(tmp_path: Path) -> None:
    """A setting with a value that means nothing is refused by name."""
    path = _write(tmp_path / "scene.yaml", a_flavor())
    settings = _write(tmp_path / "settings.yaml", {"missingNamespaceSelector": "Some"})
    done = _run(path, "--now", stamp(), "--settings", settings)
    assert done.exit_code == 2
    assert "settings.yaml" in done.stderr
    assert "missingNamespaceSelector" in done.stderr


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    """A device that never ends has more bytes than are read: it does not fill the memory."""
    done = _run(Path("/dev/zero"), "--now", stamp())
    assert done.exit_code == 2
    assert "/dev/zero" in done.stderr
    assert "more than 256 MiB: split it into several files" in done.stderr
    with pytest.raises(Unreadable, match="more than 256 MiB"):
        read_trace(Path("/dev/zero"))


def test_malformed_yaml(tmp_path: Path) -> None:
    """A file that is no YAML is named."""
    path = tmp_path / "broken.yaml"
    path.write_text("a: [")
    done = _run(path, "--now", stamp())
    assert done.exit_code == 2
    assert "broken.yaml" in done.stderr


def test_v1beta1_means_the_same(tmp_path: Path) -> None:
    """Both versions' names lead to the same answer."""
    new = a_queue("q", Q(5, 1), "all")
    old = [{**new[0], "apiVersion": "kueue.x-k8s.io/v1beta1"}, new[1]]
    old[0]["spec"] = {k: v for k, v in new[0]["spec"].items() if k != "cohortName"}
    old[0]["spec"]["cohort"] = "all"
    answers = [
        _run(_write(tmp_path / f"{n}.yaml", a_flavor(), q, a_workload("w", "q")), "--now", stamp())
        for n, q in enumerate((new, old))
    ]
    assert answers[0].exit_code == 0, answers[0].stderr
    assert answers[0].stdout == answers[1].stdout

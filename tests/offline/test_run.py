"""`roadstead simulate run`: loads from generators and traces, figures, page, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bench.queueing import the_baseline
from roadstead.cli.simulate import simulate
from tests.offline.build import a_flavor, a_local_queue, a_queue

_NODES = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
    "kind": "MemberCluster",
    "metadata": {"name": "m"},
    "spec": {"pools": [{"name": "p", "count": 2, "allocatable": {"cpu": "4", "pods": "10"}}]},
}


def _run(*args: object) -> Result:
    return CliRunner().invoke(simulate, ["run", *map(str, args)])


def _write(path: Path, *objects: object) -> Path:
    listed = [o for item in objects for o in (item if isinstance(item, list) else [item])]
    path.write_text(yaml.safe_dump_all(listed))
    return path


def _stream(**more: object) -> dict[str, Any]:
    workload = {"className": "w", "runtimeMs": 1000, "request": 2}
    return {"namespace": "ns", "queue": "q", "count": 3, "workloads": [workload], **more}


def test_the_suites_generator_brings_its_own_queues(tmp_path: Path) -> None:
    """Cohorts of queues with a namespace each; every workload of the suite finishes."""
    load = _write(tmp_path / "load.yaml", the_baseline(0.02))
    told = json.loads(_run("--workloads", load, "-o", "json").stdout)
    assert told["workloads"]["finished"] == told["workloads"]["total"] == 30 * (7 + 2 + 1)
    assert [c["class"] for c in told["classes"]] == ["large", "medium", "small"]
    assert len(told["queues"]) == 30
    assert told["queues"][0]["trueUse"]["cpu"] > 0


def test_time_in_a_queue_of_one(tmp_path: Path) -> None:
    """Two CPUs, three workloads of two that run a second each: they wait 0, 1 and 2 seconds."""
    queues = _write(tmp_path / "q.yaml", a_flavor(), a_queue("q", 2))
    load = _write(tmp_path / "load.yaml", {"streams": [_stream(creationIntervalMs=0)]})
    told = json.loads(_run(queues, "--workloads", load, "-o", "json").stdout)
    assert told["makespanSeconds"] == 3.0
    assert told["classes"][0]["timeToAdmission"] == {
        "average": 1.0, "p50": 1.0, "p95": 2.0, "max": 2.0
    }  # fmt: skip
    assert told["queues"][0]["trueUse"] == {"cpu": 1.0}
    assert told["queues"][0]["held"] == {"cpu": 1.0}


def test_clusters_limit_what_quota_allows(tmp_path: Path) -> None:
    """Quota for all, nodes for two at a time: the third waits, and the cluster's use is told."""
    queues = _write(tmp_path / "q.yaml", a_flavor(), a_queue("q", 100), _NODES)
    kind = {"className": "w", "runtimeMs": 1000, "request": 3}
    load = _write(tmp_path / "l.yaml", {"streams": [_stream(workloads=[kind])]})
    told = json.loads(_run(queues, "--workloads", load, "-o", "json").stdout)
    assert told["makespanSeconds"] == 2.0
    assert told["clusters"][0]["finished"] == 3
    assert told["clusters"][0]["trueUse"]["cpu"] == pytest.approx(9 / 16, abs=1e-3)


def test_a_trace(tmp_path: Path) -> None:
    """A row per workload; columns that are not known are resources."""
    queues = _write(tmp_path / "q.yaml", a_flavor(), a_queue("q", 4), a_local_queue("d", "q"))
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "at,runtime,namespace,queue,class,pods,cpu\n0,10,ns,d,x,2,2\n5,1m,ns,d,y,1,500m\n"
    )
    told = json.loads(_run(queues, "--workloads", trace, "-o", "json").stdout)
    assert told["makespanSeconds"] == 70.0
    assert told["queues"][0]["workDone"] == {"cpu": 2 * 2 * 10 + 0.5 * 60}


def test_what_is_preempted_is_told(tmp_path: Path) -> None:
    """Work lost is request times the time that was run in vain; with a grace period it leaves later."""
    queues = _write(tmp_path / "q.yaml", a_flavor(), a_queue("q", 2, within="LowerPriority"))
    low = {"className": "low", "runtimeMs": 10_000, "request": 2}
    high = {"className": "high", "runtimeMs": 1000, "request": 2, "priority": 1}
    load = _write(
        tmp_path / "l.yaml",
        {"streams": [_stream(count=1, workloads=[low]),
                     _stream(count=1, startMs=4000, workloads=[high])]},
    )  # fmt: skip
    told = json.loads(_run(queues, "--workloads", load, "-o", "json").stdout)
    assert told["preemptions"]["byReason"] == {"InClusterQueue": 1}
    assert (told["workLost"], told["makespanSeconds"]) == ({"cpu": 8.0}, 15.0)
    settings = _write(tmp_path / "s.yaml", {"preemption": {"gracePeriod": "2s"}})
    told = json.loads(
        _run(queues, "--workloads", load, "--settings", settings, "-o", "json").stdout
    )
    assert told["makespanSeconds"] == 17.0


def test_the_page_stands_alone(tmp_path: Path) -> None:
    """One HTML file with charts as SVG: nothing is loaded, nothing is scripted."""
    queues = _write(tmp_path / "q.yaml", a_flavor(), a_queue("q", 2))
    load = _write(tmp_path / "<b>.yaml", {"streams": [_stream()]})
    done = _run(queues, "--workloads", load, "--html", tmp_path / "page.html")
    assert done.exit_code == 0
    text = (tmp_path / "page.html").read_text()
    assert text.count("<svg") == 3
    assert "<script" not in text
    assert "src=" not in text
    assert "<b>.yaml" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"streams": [_stream(workloads=[{"className": "w"}])]}, "streams[0].workloads[0].runtimeMs"),
        ({"streams": [_stream(count=-1)]}, "streams[0].count: must be a whole number"),
        ({"streams": [_stream(queue=3)]}, "streams[0].queue: must be a text"),
        ({"cohorts": [{"className": "c", "queuesSets": [{"className": "q"}]}]}, "nominalQuota"),
        ({"jobs": []}, "jobs: unknown"),
        ({}, "neither cohorts nor streams"),
    ],
)  # fmt: skip
def test_a_bad_generator_is_refused_with_its_place(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    """File, document and field, exit code 2."""
    load = _write(tmp_path / "load.yaml", given)
    done = _run("--workloads", load)
    assert done.exit_code == 2
    assert f"{load}, document 1" in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("at,runtime\n0,1\n", "namespace: the column is missing"),
        ("at,runtime,namespace\nsoon,1,ns\n", "row 2, column at: 'soon'"),
        ("at,runtime,namespace,cpu\n0,1,ns,1\n0,1,ns,many\n", "row 3, column cpu"),
        ("at,runtime,namespace,name\n0,1,ns,a\n1,1,ns,a\n", "row 3, column name: row 2 has"),
        ("", "a header and at least one row"),
    ],
)
def test_a_bad_trace_is_refused_with_its_row(tmp_path: Path, text: str, said: str) -> None:
    """File, row (the header is row 1) and column, exit code 2."""
    trace = tmp_path / "trace.csv"
    trace.write_text(text)
    done = _run("--workloads", trace)
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_unknown_queue_waits_and_says_so(tmp_path: Path) -> None:
    """A stream for a LocalQueue that is not there: its workloads wait, reason QueueNotFound."""
    load = _write(tmp_path / "l.yaml", {"streams": [_stream(queue="nowhere")]})
    told = json.loads(_run("--workloads", load, "-o", "json").stdout)
    assert told["waiting"] == {"QueueNotFound": 3}

"""Karta documents of kinds that are not built in, as others publish them: read unchanged, and alone."""

import pytest

from tests.workkinds.build import a_karta, a_swarm, counts, karta_file, pods, read, read_all


def _read(name):
    definitions, objects = karta_file(name)
    return {each.name: each for each in read_all(objects, definitions)}


def test_variables_bound_within_select():
    """Cliques outside of scaling groups, each times the replicas of the whole."""
    serve = _read("cliques")["serve"]
    assert pods(serve) == {
        "clique-prefill": (6, {"cpu": "4", "memory": "8Gi"}),
        "clique-decode": (2, {"cpu": "2500m", "memory": "4Gi"}),
    }
    assert (serve.priority_class, serve.priority_kind) == ("high", "PriorityClass")
    assert serve.suspend_path == "hub"
    assert serve.states == ("initializing",)


def test_instances_without_a_pod_spec_are_refused_by_name():
    """A scaling group whose pods the definition does not say would be admitted for nothing."""
    grouped = _read("cliques")["grouped"]
    assert grouped.outcome == "refused"
    assert "scalinggroup" in grouped.reason


def test_counts_are_those_of_the_object_as_it_would_run():
    """A count by `if` is 0 while it sleeps; its resume action is applied before it is read."""
    asleep = _read("sleeper")["asleep"]
    assert counts(asleep) == {"sleeper": 1}
    assert asleep.suspend_path == "spec.mode"
    assert asleep.states == ("suspended",)


def test_resuming_does_not_make_a_count_smaller():
    """Where the resume action writes one replica and more run, those that run are reserved."""
    scale = [{"path": ".spec.replicas", "value": "1"}]
    karta = a_karta(
        scaleDefinition={"replicasPath": ".spec.replicas"},
        suspendDefinition={
            "suspendActions": [{"path": ".spec.replicas", "value": "0"}],
            "resumeActions": scale,
        },
    )
    assert counts(read(a_swarm(replicas=5), by=[karta])) == {"swarm": 5}
    assert counts(read(a_swarm(replicas=0), by=[karta])) == {"swarm": 1}


def test_parts_that_an_object_does_not_have_are_absent():
    """Components of which nothing is said have no pod set; what has no scaleDefinition is one pod."""
    small = _read("store")["small"]
    assert pods(small) == {
        "proxy": (2, {"cpu": "1", "memory": "2Gi"}),
        "keeper": (1, {"cpu": "500m", "memory": "1Gi"}),
    }
    assert small.states == ("running",)


@pytest.mark.parametrize(
    ("file", "name", "said"),
    [
        ("store", "unsized", "proxy has instances or a count, and no pod spec"),
        ("store", "uncounted", "querynode has pods and no count"),
        ("model", "unsized", "modelservice has instances or a count, and no pod spec"),
        ("graph", "unsized", "service Router has instances or a count, and no pod spec"),
        ("mpi-v1", "empty-role", "worker has instances or a count, and no pod spec"),
    ],
)
def test_an_undercount_is_never_admitted(file, name, said):
    """What has a count or an instance, and no pods or no count that can be read, is refused by name."""
    read = _read(file)[name]
    assert read.outcome == "refused"
    assert said in read.reason


def test_the_root_may_run_the_pods():
    """Resources alone are a pod, with a default count; an object that an expression makes is read as well."""
    found = _read("model")
    assert pods(found["llm"]) == {"modelservice": (1, {"memory": "80Gi", "nvidia.com/gpu": "2"})}
    assert pods(found["fill"]) == {"modelcache": (1, {"cpu": "2", "memory": "4Gi"})}
    assert found["fill"].states == ("completed",)


def test_a_map_of_services_with_resources_beside_the_container():
    """Instances by key, counts by position, and the larger of two requests for one resource."""
    chat = _read("graph")["chat"]
    assert pods(chat) == {
        "service-frontend": (1, {"cpu": "1", "memory": "1Gi"}),
        "service-decode": (6, {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}),
    }


def test_a_least_scale_counts_where_nothing_else_does():
    """An annotation's text is a number; the definition's default holds without it."""
    found = _read("revision")
    assert counts(found["hello"]) == {"revision": 3}
    assert counts(found["plain"]) == {"revision": 1}
    assert (found["hello"].states, found["plain"].states) == ((), ("running",))


def test_a_default_count_of_an_absent_role_is_no_role():
    """A job without workers has a launcher alone, although the count of workers has a default."""
    found = _read("mpi-v1")
    assert counts(found["both"]) == {"launcher": 1, "worker": 4}
    assert counts(found["alone"]) == {"launcher": 1}
    assert found["both"].priority_kind == "WorkloadPriorityClass"

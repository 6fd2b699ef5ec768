"""Definitions: Karta documents and what extends them, read and refused."""

import hypothesis
import pytest
from hypothesis import given, strategies as st

from shared.errors import Rejected
from shared.manifest_yaml import read_yaml
from shared.resources import job_pod_sets
from shared.workkinds import parse_extension, parse_karta
from shared.workkinds.assumptions import assumptions_of
from shared.workkinds.catalog import FOLDER, builtin_catalog, read_definitions
from shared.workkinds.jq_language import CompiledSyntax
from shared.workkinds.plugins import PLUGINS
from tests.examples import Contents, examples, sample
from tests.workkinds.build import (
    a_job,
    a_karta,
    a_pod,
    a_swarm,
    an_extension,
    counts,
    pods,
    read,
    read_all,
    rows,
)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_built_in_definitions_keep_to_the_bounds_of_others(path):
    """Whoever reads them finds nothing that a definition of their own may not say."""
    for document in read_yaml(path.read_bytes()):
        if document["kind"] == "Karta":
            parse_karta.parse_karta(document, CompiledSyntax())
        else:
            parse_extension.parse_extension(
                document, CompiledSyntax(), frozenset(PLUGINS), trusted=True
            )


def test_each_file_holds_one_kind_with_its_extension():
    """Named by group, version and kind."""
    for definition in builtin_catalog():
        assert definition.extension is not None
        assert definition.source.endswith(
            f"-{definition.of.version}-{definition.of.kind.lower()}.yaml"
        )


def test_every_row_has_a_definition():
    """But for the kind that nobody knows."""
    known = {(each.of.api_version, each.of.kind) for each in builtin_catalog()}
    first = [(row["objects"][0]["apiVersion"], row["objects"][0]["kind"]) for row in rows()]
    assert set(first) - known == {("example.org/v1", "Swarm")}


CIRCLE = [{"name": "a", "ownerRef": "b"}, {"name": "b", "ownerRef": "a"}]


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({**a_karta(), "apiVersion": "run.ai/v1alpha2"}, "only run.ai/v1alpha1"),
        (a_karta(scaleDefinition={"replicasPath": "range(9)"}), "range is not allowed"),
        (a_karta(podSelector={"componentTypeSelector": {"keyPath": "split(1)"}}), "split is not allowed"),
        (a_karta(specDefinition={"podTemplateSpecPath": "spec.template"}), "begins with a dot"),
        (a_karta(kind=""), "group, version and kind"),
        (a_karta(specDefinition={"podTemplateSpecPath": ".a", "podSpecPath": ".b"}), "in one way"),
        (a_karta(statusDefinition={"statusMappings": {"fine": []}}), "no state"),
        (a_karta(statusDefinition={"statusMappings": {"running": [{}]}}), "a matcher says"),
        (a_karta(suspendDefinition={"suspendActions": [{"path": ".a"}]}), "path and value"),
        (a_karta(children=[{"name": "a", "ownerRef": "b"}]), "not below the root"),
        (a_karta(children=[{"name": "swarm", "ownerRef": "swarm"}]), "one name"),
        (a_karta(children=CIRCLE), "below the root"),
        (a_karta(children="none"), "list of objects"),
        (an_extension("other"), "extensions of no Karta"),
    ],
)  # fmt: skip
def test_a_definition_that_is_refused_says_why(definition, said):
    """What a Karta must not be, and an extension alone."""
    with pytest.raises(Rejected, match=said):
        read_definitions([definition], "f")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"clas": "job"}, "did you mean class"),
        ({"class": "batch"}, "must be one of job"),
        ({"plugin": "spark"}, "plug-ins are for the kinds that Roadstead brings"),
        ({"plugin": "none"}, "there is no plug-in"),
        ({"workloads": "input"}, "input is not allowed"),
        ({"defaults": [{"path": ".a"}]}, "value: must be said"),
        ({"podSets": [{"component": "other"}]}, "which the Karta does not have"),
        ({"extras": [{"component": "swarm", "atLeast": {"cpu": "x"}}]}, "not a quantity"),
        ({"known": {}}, "list of objects"),
        ({"priorityPaths": [1]}, "list of texts"),
    ],
)
def test_an_extension_that_is_refused_says_why(spec, said):
    """Fields are known, and what they say too."""
    with pytest.raises(Rejected, match=said):
        read_definitions([a_karta(), an_extension(**spec)], "f")


def test_an_administrators_definition_goes_before_a_built_in_one():
    """Of the same group, version and kind."""
    karta = a_karta(
        "batch", "Job", specDefinition={"podTemplateSpecPath": ".spec.template"}, name="mine"
    )
    assert counts(read(a_job(parallelism=3), by=[karta])) == {"mine": 1}


EXTENDED = [
    a_karta(scaleDefinition={"replicasPath": ".spec.count"}),
    an_extension(
        defaults=[{"path": ".spec.count", "value": "2", "when": ".spec.small != true"}],
        podSets=[{"component": "swarm", "name": "agents", "minCount": ".spec.least"}],
        extras=[{"component": "swarm", "when": ".spec.watched == true",
                 "container": '{name: "w", resources: {requests: {cpu: "500m"}}}'}],
        known=[{"path": ".spec.roles", "keys": ["Lead"]}],
        refuse=[{"when": ".spec.wild == true", "message": "it runs wild"}],
        unmanaged=[{"when": ".spec.elsewhere != null", "message": "it runs elsewhere"}],
        priorityPaths=[".spec.priority"],
        queuePaths=[".spec.queue"],
        holding="spec.paused",
    ),
]  # fmt: skip


def test_an_extension_says_what_karta_leaves_out():
    """Defaults, names, least counts, extras, priority and holding."""
    found = read(a_swarm(least=1, watched=True, priority="high"), by=EXTENDED)
    assert pods(found) == {"agents": (2, {"cpu": "1500m", "memory": "1Gi"})}
    assert found.pod_sets[0].min_count == 1
    assert (found.priority_class, found.suspend_path) == ("high", "spec.paused")


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        ({"small": True}, "refused"),  # no default then, and no count
        ({"roles": {"Lad": {}}}, "refused"),
        ({"wild": True}, "refused"),
        ({"elsewhere": "x"}, "unmanaged"),
        ({"count": 0}, "managed"),
    ],
)
def test_rules_of_an_extension(spec, outcome):
    """Each decides what becomes of the object."""
    assert read(a_swarm(**spec), by=EXTENDED).outcome == outcome


def test_a_queue_at_a_place_of_its_own():
    """Where the kind keeps labels for its pods."""
    swarm = a_swarm(queue="q")
    swarm["metadata"]["labels"] = {}
    assert read(swarm, by=EXTENDED).outcome == "managed"


def test_what_is_assumed_is_told():
    """Of a Karta alone; nothing is assumed where all is said."""
    (bare,) = read_definitions([a_karta()], "f")
    told = " ".join(assumptions_of(bare))
    for text in (
        "no extension",
        "no suspendDefinition",
        "no statusMappings",
        "no scaleDefinition",
    ):
        assert text in told
    job = next(each for each in builtin_catalog() if str(each.of) == "batch/v1 Job")
    assert "no extension" not in " ".join(assumptions_of(job))


SMALL = st.none() | st.integers(0, 6)
REQUESTS = st.dictionaries(
    st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "500m", "2Gi"])
)


@given(SMALL, SMALL, st.sampled_from([None, "1", "2", "0", "x", "9"]), REQUESTS)
@examples(60)
def test_a_jobs_definition_says_what_the_scheduler_reads(
    parallelism, completions, least, requests
):
    """The same pod set as by the code that Jobs have been read with: count, least count, requests.

    A least count that this code leaves out is refused.
    """
    container = {"name": "c", "resources": {"requests": requests}}
    job = a_job(
        parallelism=parallelism,
        completions=completions,
        template={"spec": {"containers": [container]}},
    )
    if least is not None:
        job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": least}
    found, expected = read(job), job_pod_sets(job)
    if least is None or expected[0].min_count is not None:
        assert found.pod_sets == expected
    else:
        assert found.outcome == "refused"


JUNK = st.sampled_from(
    [None, True, 0, -1, 1, 2.5, 10**30, "", "x", "3", [], {}, [None], [1], {"a": 1}, {"spec": {}},
     {"containers": []}, {"containers": [{}]}]
)  # fmt: skip


def _places(value, place=()):
    if isinstance(value, dict | list):
        listed = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in listed:
            yield (*place, key)
            yield from _places(inner, (*place, key))


def _changed(value, place, junk):
    key, *rest = place
    inner = _changed(value[key], rest, junk) if rest else junk
    made = dict(value) if isinstance(value, dict) else list(value)
    made[key] = inner
    return made


def _objects_read(settings: hypothesis.settings) -> Contents:
    """Read examples with junk in one place; which are refused."""
    seen = Contents()

    @settings
    @given(st.data())
    def holds(data):
        row = data.draw(st.sampled_from(rows()))
        first, *others = row["objects"]
        places = [each for each in _places(first) if each[0] in {"spec", "metadata", "status"}]
        changed = _changed(first, data.draw(st.sampled_from(places)), data.draw(JUNK))
        (found,) = read_all([changed, *others])
        assert found.outcome != "refused" or found.reason
        seen.note(found.outcome == "refused")

    holds()
    return seen


def test_any_object_has_an_outcome():
    """An example with junk anywhere is read or refused; nothing else is raised."""
    _objects_read(examples(300))


def test_some_of_these_objects_are_refused():
    """The property before meets refusals."""
    seen = _objects_read(sample(150))
    assert seen.are_in(0.1), seen.seen


def _definitions_read(settings: hypothesis.settings) -> Contents:
    """Read definitions with junk in one place; which are refused."""
    seen = Contents()

    @settings
    @given(st.data())
    def holds(data):
        documents = list(EXTENDED)
        index = data.draw(st.sampled_from([0, 1]))
        places = list(_places(documents[index]))
        documents[index] = _changed(
            documents[index], data.draw(st.sampled_from(places)), data.draw(JUNK)
        )
        try:
            found = read_definitions(documents, "f")
        except Rejected:
            seen.note(True)
            return
        for definition in found:
            list(assumptions_of(definition))
        seen.note(False)

    holds()
    return seen


def test_any_definition_is_read_or_refused():
    """A Karta or an extension with junk anywhere is read, or refused with Rejected."""
    _definitions_read(examples(200))


def test_some_of_these_definitions_are_refused():
    """The property before meets refusals."""
    seen = _definitions_read(sample(100))
    assert seen.are_in(0.2), seen.seen


def test_pods_of_unreadable_templates_are_named():
    """A component that is not the root says its name."""
    child = {
        "name": "part",
        "ownerRef": "swarm",
        "specDefinition": {"podSpecPath": ".spec.part"},
        "scaleDefinition": {"replicasPath": ".spec.n"},
    }
    found = read(a_swarm(n=2, part={"image": "x"}), by=[a_karta(children=[child])])
    assert "part has instances" in found.reason
    assert counts(read(a_swarm(n=2, part=a_pod()["spec"]), by=[a_karta(children=[child])])) == {
        "swarm": 1,
        "part": 2,
    }

"""`roadstead simulate podsets` and `roadstead kinds`: their output for scripts, and bad input."""

import json
import re

import pytest
import yaml
from click.testing import CliRunner

from roadstead.cli.simulate import simulate
from roadstead.cli.work_kinds import kinds
from shared.kinds.dispatched import BY_REST, DISPATCHED
from shared.workkinds.catalog import builtin_catalog
from tests.house import sources
from tests.workkinds.build import HERE, a_job, a_karta, a_pod, a_swarm, an_extension, an_object

KEYS = {
    "kind", "namespace", "name", "outcome", "workloads", "podSets", "priorityClass", "priorityClassKind",
    "suspendPath", "states",
}  # fmt: skip


def _run(command, *args, stdin=None):
    wide = {"COLUMNS": "200"}  # as a test before may have left another width
    return CliRunner().invoke(command, [str(each) for each in args], input=stdin, env=wide)


def _podsets(*args, stdin=None):
    done = _run(simulate, "podsets", *args, "-o", "json", stdin=stdin)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["objects"]


def _write(path, *objects):
    path.write_text(yaml.safe_dump_all(objects))
    return path


def test_the_answer_has_the_fixed_shape(tmp_path):
    """One object for each that is read; requests of one pod in canonical texts."""
    (told,) = _podsets(_write(tmp_path / "job.yaml", a_job(parallelism=2)))
    assert told.keys() == KEYS
    assert told["podSets"] == [
        {"name": "main", "count": 2, "minCount": None, "requests": {"cpu": "1", "memory": "1Gi"}}
    ]
    assert (told["namespace"], told["states"]) == ("team", ["unknown"])


def test_a_refusal_says_why(tmp_path):
    """Beside the other objects of the file; exit code 0."""
    path = _write(tmp_path / "two.yaml", a_swarm(), a_job())
    swarm, job = _podsets(path)
    assert (swarm["outcome"], swarm["workloads"], swarm["suspendPath"]) == ("refused", 0, None)
    assert "example.org/v1 Swarm" in swarm["reason"]
    assert job["outcome"] == "managed"


def test_definitions_are_added(tmp_path):
    """By --kinds, once for each file, or as documents of a file of objects."""
    kind = _write(tmp_path / "kind.yaml", a_karta())
    more = _write(
        tmp_path / "more.yaml", an_extension(podSets=[{"component": "swarm", "name": "main"}])
    )
    swarm = _write(tmp_path / "swarm.yaml", a_swarm())
    (told,) = _podsets(swarm, "--kinds", kind, "--kinds", more)
    assert told["podSets"][0]["name"] == "main"
    assert _podsets(swarm, kind, more) == [told]


def test_standard_input_lists_and_json(tmp_path):
    """What `kubectl get -o json` prints is read."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [a_job(), a_job()]}
    assert len(_podsets("-", stdin=json.dumps(listed))) == 2
    path = tmp_path / "job.json"
    path.write_text(json.dumps(a_job()))
    assert len(_podsets(path)) == 1


def test_a_child_is_shown(tmp_path):
    """In the shape of any object."""
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": a_pod()}}}
    (told,) = _podsets(_write(tmp_path / "c.yaml", an_object("batch/v1", "CronJob", spec)))
    assert (told["outcome"], told["child"]["kind"]) == ("children", "Job")
    assert told["child"]["podSets"][0]["name"] == "main"


def test_a_table_for_people(tmp_path):
    """A line for each pod set, and the reason of a refusal."""
    done = _run(simulate, "podsets", _write(tmp_path / "two.yaml", a_swarm(), a_job()))
    assert done.exit_code == 0
    assert "cpu 1, memory 1Gi" in done.stdout
    assert "there is no definition of its kind" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "MalformedYaml"),
        ("- 1", "a manifest is an object"),
        ("{kind: Job}", "apiVersion"),
        ("{apiVersion: v1, kind: Pod, metadata: 1}", "metadata"),
        (
            yaml.safe_dump(a_karta(scaleDefinition={"replicasPath": "range(9)"})),
            "range is not allowed",
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, text, said):
    """File, document and field; exit code 2 and no answer."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    done = _run(simulate, "podsets", path, "-o", "json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "bad.yaml" in done.stderr
    assert said in done.stderr


def test_kinds_are_listed():
    """Each that is built in, once."""
    done = _run(kinds, "ls", "-o", "json")
    listed = json.loads(done.stdout)["kinds"]
    assert len(listed) == len(list(builtin_catalog()))
    told = {"kind", "apiVersion", "karta", "class", "plugin", "suspendPath", "dispatched"}
    assert told == listed[0].keys()
    assert "PyTorchJob" in _run(kinds, "ls").stdout


def test_the_list_tells_what_is_dispatched_and_by_which_doors():
    """Those of `shared.kinds.dispatched`, Jobs, and CronJobs, whose schedule the hub keeps."""
    listed = json.loads(_run(kinds, "ls", "-o", "json").stdout)["kinds"]
    told = {(each["apiVersion"], each["kind"]): each["dispatched"] for each in listed}
    assert {one for one, said in told.items() if said != "no"} == {
        *DISPATCHED,
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
    }
    assert {one for one, said in told.items() if said == "by REST"} == {
        *BY_REST,
        ("batch/v1", "CronJob"),
    }
    assert "DISPATCHED" in _run(kinds, "ls").stdout


@pytest.mark.parametrize(
    "name", ["pytorchjob", "PyTorchJob", "pytorchjob.kubeflow.org", "kubeflow-org-pytorchjob-v1"]
)
def test_a_definition_is_shown_as_it_is_written(name):
    """By kind, by kind and group, or by the name of the Karta; it can be read again."""
    done = _run(kinds, "show", name)
    karta, extension = yaml.safe_load_all(done.stdout)
    assert (karta["kind"], extension["spec"]["karta"]) == ("Karta", karta["metadata"]["name"])


def test_a_kind_that_is_not_there():
    """Exit code 2, and where to look."""
    done = _run(kinds, "show", "swarm")
    assert done.exit_code == 2
    assert "roadstead kinds ls" in done.stderr
    assert "roadstead kinds versions" in done.stderr


def test_a_check_tells_what_is_assumed_and_tries_samples(tmp_path):
    """A sample is read as if it named a queue."""
    sample = a_swarm()
    sample["metadata"]["labels"] = {}
    path = _write(tmp_path / "kind.yaml", a_karta(), sample)
    done = _run(kinds, "check", path, "-o", "json")
    told = json.loads(done.stdout)
    assert "no extension" in told["kinds"][0]["assumed"][0]
    assert told["objects"][0]["outcome"] == "managed"
    shown = _run(kinds, "check", path).stdout
    assert "example.org/v1 Swarm (swarm): can be read" in shown
    assert "assumed: no suspendDefinition" in shown


def test_a_check_of_a_wrong_definition_says_where(tmp_path):
    """Every fault, with its field; exit code 2."""
    karta = a_karta(
        specDefinition={"podTemplateSpecPath": ".."}, scaleDefinition={"replicasPath": "env"}
    )
    done = _run(kinds, "check", _write(tmp_path / "kind.yaml", karta))
    assert done.exit_code == 2
    for said in ("podTemplateSpecPath", "replicasPath", "env is not allowed", "Karta swarm"):
        assert said in done.stderr


def test_a_file_without_a_definition(tmp_path):
    """There is nothing to check."""
    done = _run(kinds, "check", _write(tmp_path / "job.yaml", a_job()))
    assert done.exit_code == 2
    assert "no Karta" in done.stderr


@pytest.mark.parametrize(
    "path", sorted((HERE / "kartas").glob("*.yaml")), ids=lambda path: path.stem
)
def test_published_shapes_pass_the_check(path):
    """Each of them can be read."""
    assert _run(kinds, "check", path).exit_code == 0


def test_the_examples_of_the_page_can_be_read(tmp_path):
    """The Karta and the extension of docs/reference/kinds.md, as they stand there."""
    text = (sources.REPOSITORY / "docs/reference/kinds.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "page.yaml"
    path.write_text("---\n".join(blocks))
    sample = _write(
        tmp_path / "s.yaml",
        an_object("example.org/v1", "Swarm", {"agents": {"template": a_pod()}}),
    )
    done = _run(kinds, "check", path, sample, "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["objects"][0]["podSets"][0]["name"] == "agents"

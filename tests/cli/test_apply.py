"""`roadstead apply`: files, folders, standard input; what became of each document; what was refused."""

import json

import pytest

from tests.cli.build import a_job, a_namespace, text
from tests.cli.commands import GUIDE, run
from tests.cli.scripted import answering, items, problem


def test_each_document_gets_a_line(hub, tmp_path):
    """kind, namespace/name and what became of it: created, unchanged, configured."""
    file = tmp_path / "all.yaml"
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "apply-1"},
        "data": {"a": "1"},
    }
    file.write_text(text(a_namespace("apply-1"), settings))
    assert hub.run("apply", "-f", str(file)).lines == [
        "Namespace apply-1 created",
        "ConfigMap apply-1/settings created",
    ]
    file.write_text(text({**settings, "data": {"a": "2"}}, a_namespace("apply-1")))
    assert hub.run("apply", "-f", str(file)).lines == [
        "ConfigMap apply-1/settings configured",
        "Namespace apply-1 unchanged",
    ]


def test_standard_input_is_a_file(hub):
    """`-f -` reads standard input, YAML or JSON."""
    as_yaml = hub.spawn("apply", "-f", "-", stdin=text(a_namespace("stdin-1")))
    as_json = hub.spawn("apply", "-f", "-", stdin=json.dumps(a_namespace("stdin-2")))
    assert as_yaml.lines == ["Namespace stdin-1 created"]
    assert as_json.lines == ["Namespace stdin-2 created"]


def test_a_folder_is_its_manifests_in_order_of_their_names(hub, tmp_path):
    """A folder stands for its .yaml, .yml and .json files; other files are left alone."""
    (tmp_path / "2.yml").write_text(text(a_namespace("folder-2")))
    (tmp_path / "1.yaml").write_text(text(a_namespace("folder-1")))
    (tmp_path / "3.json").write_text(json.dumps(a_namespace("folder-3")))
    (tmp_path / "README.md").write_text("not: [a manifest")
    (tmp_path / "below.yaml").mkdir()
    done = hub.run("apply", "-f", str(tmp_path))
    assert done.lines == [f"Namespace folder-{i} created" for i in (1, 2, 3)]


def test_nothing_to_apply_is_no_success(hub, tmp_path):
    """An empty List says so and ends with 2, as an empty file does; beside others it is only named."""
    nothing, something = tmp_path / "nothing.yaml", tmp_path / "something.yaml"
    nothing.write_text(text({"apiVersion": "v1", "kind": "List", "items": []}))
    something.write_text(text(a_namespace("not-nothing")))
    said = [f"{nothing} holds no objects"]
    for empty in (nothing.read_text(), "", "# nothing\n---\n"):
        nothing.write_text(empty)
        alone = hub.run("apply", "-f", str(nothing))
        assert (alone.code, alone.out) == (2, "")
        assert alone.err.splitlines()[0] == said[0]
        assert "contain nothing to apply" in alone.err
    beside = hub.run("apply", "-f", str(nothing), "-f", str(something))
    assert (beside.code, beside.err.splitlines()) == (0, said)


def test_folders_below_are_looked_into_when_asked(hub, tmp_path):
    """Without -R a folder of folders holds nothing, which is said; with it, what is below."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "one.yaml").write_text(text(a_namespace("below-1")))
    flat = hub.run("apply", "-f", str(tmp_path))
    deep = hub.run("apply", "-R", "-f", str(tmp_path))
    assert flat.code == 2
    assert "-R" in flat.err
    assert deep.lines == ["Namespace below-1 created"]


def test_a_file_without_end_is_refused():
    """Before anything is sent, with the bound; it ended in a MemoryError."""
    with answering() as script:
        done = run("--server", script.address, "apply", "-f", "/dev/zero")
    assert (done.code, script.asked) == (2, [])
    assert "/dev/zero has more than 256 MiB: split it into several files." in done.err


def test_several_files_are_read_before_the_first_is_sent(hub, tmp_path):
    """A file that cannot be read keeps all back: nothing is half applied for a typing error."""
    (tmp_path / "good.yaml").write_text(text(a_namespace("half-1")))
    wrong = tmp_path / "missing.yaml"
    done = hub.run("apply", "-f", str(tmp_path / "good.yaml"), "-f", str(wrong))
    assert done.code == 2
    assert f"{wrong} cannot be read: No such file or directory" in done.err
    assert hub.run("apply", "-f", str(tmp_path / "good.yaml")).lines == [
        "Namespace half-1 created"
    ]


def test_a_refused_document_is_named_and_the_others_are_applied(hub, tmp_path):
    """File, document number, kind and name, the field, the rule and the stable code; exit code 3."""
    file = tmp_path / "mixed.yaml"
    file.write_text(text(a_namespace("mixed-1"), a_job("Bad_Name"), a_namespace("mixed-2")))
    done = hub.run("apply", "-f", str(file))
    assert done.code == 3
    assert done.lines == ["Namespace mixed-1 created", "Namespace mixed-2 created"]
    first, second = done.err.splitlines()[:2]
    assert first == f"{file}, document 2 (Job team-a/Bad_Name) refused:"
    assert second.startswith("  metadata.name: ")
    assert second.endswith("[InvalidName]")


def test_a_mistyped_kind_is_warned_of(hub, tmp_path):
    """Below the line of the document, on standard error: it was taken."""
    document = {"apiVersion": "v1", "kind": "Confimap", "metadata": {"name": "typo"}}
    file = tmp_path / "typo.yaml"
    file.write_text(text(document))
    done = hub.run("apply", "-f", str(file))
    assert (done.code, done.lines) == (0, ["Confimap typo created"])
    assert "warning: kind: the core group is not known to have 'Confimap'" in done.err
    assert "did you mean ConfigMap?" in done.err


def test_every_wrong_field_is_listed(hub, tmp_path):
    """A manifest with several mistakes gets a line for each, with its path."""
    job = a_job("ok")
    job["spec"]["template"]["spec"] |= {"restartPolicy": "Always", "containers": []}
    (tmp_path / "job.yaml").write_text(text(job))
    err = hub.run("apply", "-f", str(tmp_path / "job.yaml")).err
    assert "spec.template.spec.restartPolicy: " in err
    assert "spec.template.spec.containers: " in err


def test_an_unreadable_file_is_named_and_the_next_is_applied(hub, tmp_path):
    """YAML that is none is refused with file, line and column; later files are applied all the same."""
    (tmp_path / "1.yaml").write_text("a: [\n")
    (tmp_path / "2.yaml").write_text(text(a_namespace("after-1")))
    done = hub.run("apply", "-f", str(tmp_path))
    assert done.code == 3
    assert done.lines == ["Namespace after-1 created"]
    assert done.err.startswith(f"{tmp_path / '1.yaml'} refused:\n")
    assert "line 2, column 1 [MalformedYaml]" in done.err


def test_documents_without_a_namespace_go_where_asked(hub, tmp_path):
    """-n names the namespace of documents that name none."""
    job = a_job("placed")
    del job["metadata"]["namespace"]
    (tmp_path / "job.yaml").write_text(text(job))
    done = hub.run("apply", "-n", "apply-n", "-f", str(tmp_path / "job.yaml"))
    assert done.lines == ["Job apply-n/placed created"]


def test_results_for_scripts(hub, tmp_path):
    """-o json prints one list of results with their files; the exit code still tells of refusals."""
    (tmp_path / "1.yaml").write_text(text(a_namespace("script-1"), a_job("Bad_Name")))
    done = hub.run("apply", "-o", "json", "-f", str(tmp_path))
    told = json.loads(done.out)["items"]
    assert done.code == 3
    assert [t["result"] for t in told] == ["created", "rejected"]
    assert {t["file"] for t in told} == {str(tmp_path / "1.yaml")}
    assert told[1]["code"] == "InvalidName"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (
            problem(422, "Invalid", "it is wrong", errors=[
                {"field": "spec.a", "code": "X", "message": "must be 1"},
                {"field": "spec.b", "code": "X", "message": "must be 2"}]),
            ["it is wrong [Invalid]", "spec.a: must be 1", "spec.b: must be 2"],
        ),
        (
            problem(422, "Invalid", "must be 1", errors=[
                {"field": "spec.a", "code": "X", "message": "must be 1"}]),
            ["spec.a: must be 1 [Invalid]"],
        ),
        (
            problem(422, "Invalid", "spec.a: must be 1", errors=[
                {"field": "spec.a", "code": "X", "message": "must be 1"}]),
            ["spec.a: must be 1 [Invalid]"],
        ),
        (problem(409, "OwnedElsewhere", ""), ["OwnedElsewhere [OwnedElsewhere]"]),
        (problem(422, "Invalid", "a\x1b[31mb", errors="odd"), ["a?[31mb [Invalid]"]),
    ],
)  # fmt: skip
def test_a_refusal_is_told_once(tmp_path, answer, shown):
    """Each field is named with its rule, nothing twice, and nothing steers the terminal."""
    (tmp_path / "a.yaml").write_text("a: 1\n")
    with answering(answer) as script:
        done = run("--server", script.address, "apply", "-f", str(tmp_path / "a.yaml"))
    assert done.err.splitlines() == [
        f"{tmp_path / 'a.yaml'} refused:",
        *(f"  {line}" for line in shown),
    ]


def test_a_warning_names_what_it_is_of():
    """On standard error a warning stands by itself: kind and name come first."""
    told = {"index": 0, "kind": "ConfigMap", "namespace": "a", "name": "b", "result": "created"}
    with answering(items({**told, "warnings": ["spec.x has no effect"]})) as script:
        done = run("--server", script.address, "apply", "-f", str(GUIDE))
    assert done.err.splitlines()[0].startswith("ConfigMap a/b: warning: ")

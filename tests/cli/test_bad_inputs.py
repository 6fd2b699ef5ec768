"""Bad jobs by the command line: exit code 3 and the code that REST would answer, never a traceback."""

import json

import pytest

from tests.bad_inputs.cases import Case, job_cases, labelled_namespace

# About requests, not about files: lengths, encodings and chunks are the client's own.
REQUESTS = {6, 7, 8}
# A file may hold several documents, each answered by itself; `null` is YAML for no document at all.
OTHERWISE = {"3.1": "Required", "12.2": "EmptyBody"}
CASES = [case for case in job_cases() if case.number not in REQUESTS]


def _written(tmp_path, case: Case) -> str:
    ending = "yaml" if "yaml" in case.content_type else "json"
    path = tmp_path / f"job.{ending}"
    name = f'"ok-{case.number}-{case.variant}"'.encode()
    path.write_bytes(case.body.replace(b'"ok"', name))
    return str(path)


def _label(hub, tmp_path, level: str) -> None:
    path = tmp_path / "namespace.json"
    path.write_text(json.dumps(labelled_namespace(level)))
    assert hub.run("apply", "-f", str(path)).code == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_bad_job_is_refused_by_the_command(hub, tmp_path, case):
    """`roadstead submit` says the code of the list; what only looks bad is submitted."""
    path = _written(tmp_path, case)
    _label(hub, tmp_path, case.namespace_level or "baseline")
    for _ in range(case.times):
        done = hub.run("submit", path)
    assert "Traceback" not in done.err
    if case.status == 201:
        assert done.code == 0, done.err
        return
    assert done.code == 3
    code = OTHERWISE.get(case.id, case.code)
    assert code is None or f"[{code}]" in done.err

"""The bad inputs at the level of the library: bytes in, a refusal with the stated code out.

What needs a server (sizes, encodings, a name that is taken) is left to the tests of the API.
"""

import time
import tracemalloc

import pytest

from shared import kinds, manifests, podsecurity
from shared.errors import Rejected
from tests.bad_inputs.cases import Case, job_cases

CASES = job_cases()
NEEDS_A_SERVER = {6, 7, 8, 17}
RULES = podsecurity.Rules()
READ = [case for case in CASES if case.number not in NEEDS_A_SERVER]


def submit(case: Case) -> kinds.Parsed:
    job = kinds.parse_job(manifests.read_document(case.body, case.content_type))
    level = podsecurity.level_named(case.namespace_level or RULES.level)
    if found := podsecurity.check_pods(job.raw, job.namespace, level, RULES):
        raise podsecurity.refused(found, job.namespace, level)
    return job


def test_every_case_is_there():
    """All cases of the list are run, each variant by itself."""
    assert {case.number for case in CASES} == {*range(1, 46)}
    assert all(case.body or case.number in {1, 7} for case in CASES)


@pytest.mark.parametrize("case", [c for c in READ if c.status != 201], ids=lambda c: c.id)
def test_a_bad_input_is_refused_with_its_code(case):
    """Every bad input is refused with the stated code, and 400 means that it could not be read."""
    with pytest.raises(Rejected) as refusal:
        submit(case)
    if case.code is not None:
        assert refusal.value.code == case.code
    assert refusal.value.code.status == case.status


@pytest.mark.parametrize("case", [c for c in READ if c.status == 201], ids=lambda c: c.id)
def test_what_only_looks_bad_is_accepted(case):
    """A suspended job, one larger than every cluster, one with a missing image: all are accepted."""
    assert submit(case).name == "ok"


def test_a_refusal_names_the_field():
    """A fault inside a manifest comes with the path of the field."""
    for case in READ:
        if case.status == 422 and case.code not in {"ExpectedObject", "UnsupportedKind"}:
            with pytest.raises(Rejected) as refusal:
                submit(case)
            assert refusal.value.errors[0].field, case.id


def test_an_unknown_field_comes_with_the_nearest_name():
    """`spec.paralelism` is answered with `parallelism`."""
    (case,) = (c for c in CASES if c.number == 41)
    with pytest.raises(Rejected, match=r"did you mean parallelism\?"):
        submit(case)


def test_an_alias_bomb_costs_nothing():
    """What aliases stand for is counted before it is copied: within 50 ms of CPU and 5 MiB."""
    (case,) = (c for c in CASES if c.number == 4)
    tracemalloc.start()
    began = time.thread_time()
    with pytest.raises(Rejected):
        submit(case)
    took = time.thread_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 0.05
    assert peak < 5 * 1024 * 1024


def test_a_refusal_quotes_with_care():
    """What a refusal quotes is bounded and has its control characters spelled out."""
    for case in READ:
        if case.status == 422:
            with pytest.raises(Rejected) as refusal:
                submit(case)
            assert refusal.value.detail.isprintable(), case.id
            assert len(refusal.value.detail) < 600, case.id

"""The rules about marks in the shipped admission policy, evaluated by a CEL library on plain objects.

The library knows no Kubernetes types, so it says nothing of type checks; `tests/realkube/test_ownership.py`
sends the same requests to a real API server.
"""

import pytest

from tests.deploy.member_gate import (
    ACCEPT,
    BY_OTHERS,
    CREATED,
    ENDING,
    ENFORCE,
    HELD,
    HOLD,
    KEPT,
    KEPT_AND_HELD,
    MARK,
    NOBODY,
    NOTE,
    NOTED,
    OLDER,
    OTHER,
    OWNED,
    PIN,
    PINNED,
    PROTECTED,
    RESTRICTED,
    TAKEN,
    WRITTEN,
    Json,
    an,
    is_allowed,
)


@pytest.mark.parametrize(
    ("operation", "kind", "old", "new", "space", "allowed"),
    [
        ("CREATE", "Secret", None, an(CREATED), {}, False),
        ("CREATE", "Secret", None, an(CREATED), ACCEPT, True),
        ("CREATE", "Secret", None, an(CREATED), {"roadstead.dev/accept": "z"}, False),
        ("CREATE", "Secret", None, an(CREATED), CREATED, True),
        ("CREATE", "Job", None, an(MARK), {}, False),
        ("CREATE", "Job", None, an(MARK), ACCEPT, True),
        ("CREATE", "Job", None, an(MARK), CREATED, True),
        ("CREATE", "Job", None, an(MARK), MARK, True),
        ("CREATE", "Job", None, an(MARK), {**MARK, "roadstead.dev/job-uid": "u"}, False),
        ("CREATE", "Job", None, an(MARK), OTHER, False),
        ("CREATE", "Secret", None, an({}), {}, False),
        ("CREATE", "Secret", None, an({**MARK, "roadstead.dev/created-by": "z"}), {}, False),
        ("CREATE", "Namespace", None, an({**CREATED, **ACCEPT}), {}, False),
        ("DELETE", "Secret", an({}), None, {}, False),
        ("DELETE", "Secret", an(MARK), None, ACCEPT, False),
        ("DELETE", "Secret", an(CREATED), None, {}, True),
        ("DELETE", "Namespace", an({}), None, {}, False),
        ("UPDATE", "Secret", an({}), an(MARK), {}, False),
        ("UPDATE", "Secret", an({}), an(CREATED), {}, False),
        ("UPDATE", "Secret", an({}), NOTED, {}, False),
        ("UPDATE", "Secret", an({}), HELD, {}, False),
        ("UPDATE", "Secret", an({}), an(MARK), ACCEPT, True),
        ("UPDATE", "Secret", an({}), an(MARK), {"roadstead.dev/accept": "z"}, False),
        ("UPDATE", "Secret", an({}), an(CREATED), ACCEPT, False),
        ("UPDATE", "Secret", an(OTHER), an(MARK), {}, False),
        ("UPDATE", "Secret", an(OTHER), an(MARK), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK), an(MARK), ACCEPT, True),
        ("UPDATE", "Secret", an(MARK), an(MARK), {}, False),
        ("UPDATE", "Secret", an(CREATED), an(CREATED), {}, False),
        ("UPDATE", "Secret", an(CREATED), an(CREATED), CREATED, True),
        ("UPDATE", "Secret", an(MARK), an({}), {}, True),
        ("UPDATE", "Secret", an(CREATED), an({}), {}, True),
        ("UPDATE", "Secret", an(CREATED), an(MARK), {}, False),
        ("UPDATE", "Namespace", an({}), an(MARK), {}, False),
        ("UPDATE", "Namespace", an(ACCEPT), an({**ACCEPT, **TAKEN}), ACCEPT, True),
        ("UPDATE", "Namespace", an(ACCEPT), an({**ACCEPT, **MARK}), ACCEPT, False),
        ("UPDATE", "Namespace", an(TAKEN), an(MARK), {}, False),
        ("UPDATE", "Namespace", an(TAKEN), an({}), {}, True),
        ("UPDATE", "Namespace", an({**CREATED, **TAKEN}), an(CREATED), {}, True),
        ("UPDATE", "Namespace", an({}), an({**ACCEPT, **TAKEN}), ACCEPT, False),
        ("UPDATE", "Namespace", an({**ACCEPT, **MARK}), an(MARK), ACCEPT, False),
        ("UPDATE", "Namespace", an({**MARK, **RESTRICTED}), an(MARK), {}, False),
        ("UPDATE", "Namespace", an({**MARK, **RESTRICTED}), an({**MARK, ENFORCE: "baseline"}), {}, False),
        ("UPDATE", "Namespace", an({**MARK, ENFORCE: "baseline"}), an({**MARK, **RESTRICTED}), {}, True),
        ("UPDATE", "Namespace", an({**MARK, **RESTRICTED}), an(OLDER), {}, False),
        ("UPDATE", "Namespace", an(PINNED), an(PINNED), {}, True),
        ("UPDATE", "Namespace", an(PINNED), an({**MARK, **RESTRICTED}), {}, True),
        ("UPDATE", "Namespace", an(MARK), an({**MARK, PIN: "v1.0"}), {}, False),
        ("UPDATE", "Namespace", an(MARK), an({**MARK, PIN: "latest"}), {}, True),
        ("CREATE", "Namespace", None, an({**CREATED, ENFORCE: "baseline", PIN: "v1.0"}), {}, False),
        ("UPDATE", "Namespace", an({**ACCEPT, **TAKEN}), an({**ACCEPT, **TAKEN}, **NOTE), {}, True),
        ("UPDATE", "Namespace", an(TAKEN), an(TAKEN, **NOTE), {}, False),
        ("UPDATE", "Namespace", an(TAKEN), an({**TAKEN, "team": "x"}), {}, False),
        ("UPDATE", "Namespace", an(TAKEN), an({"team": "x"}, **WRITTEN), {}, False),
        ("UPDATE", "Namespace", an({**CREATED, **TAKEN}), an({**CREATED, **TAKEN, "team": "x"}), {}, True),
        ("CREATE", "Secret", None, an(NOBODY), {"roadstead.dev/accept": ""}, False),
        ("DELETE", "Job", an(NOBODY, **BY_OTHERS), None, {"roadstead.dev/accept": ""}, False),
        ("UPDATE", "Job", an(MARK), an(OTHER), {"roadstead.dev/accept": "z"}, False),
        ("UPDATE", "Secret", an({}, **NOTE, **WRITTEN), an({"a": "b"}, **NOTE), CREATED, False),
        ("UPDATE", "Secret", an(MARK), an(MARK, **OWNED), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK, **OWNED), an(MARK), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK, **OWNED), an({}, **OWNED), ACCEPT, True),
        ("UPDATE", "Secret", an({}), an(MARK, **OWNED), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK), an(MARK, **KEPT), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK), an(MARK, finalizers=["roadstead.dev/result"]), ACCEPT, False),
        ("UPDATE", "Secret", an(MARK, **KEPT), an(MARK), ACCEPT, False),
        ("UPDATE", "Secret", an(CREATED), an(CREATED, **KEPT), ACCEPT, False),
        ("UPDATE", "Secret", an(CREATED), an(CREATED, **OWNED), ACCEPT, False),
        ("UPDATE", "Secret", an(CREATED, **KEPT), an(CREATED, **KEPT), ACCEPT, True),
        ("UPDATE", "Secret", an(CREATED), an(CREATED, **HOLD), ACCEPT, False),
        ("CREATE", "Secret", None, an(CREATED, **KEPT), CREATED, False),
        ("CREATE", "Secret", None, an(CREATED, **OWNED), CREATED, False),
        ("CREATE", "Secret", None, an(CREATED, **HOLD), CREATED, False),
        ("CREATE", "Namespace", None, an(CREATED, **KEPT), {}, False),
        ("CREATE", "PersistentVolumeClaim", None, an(CREATED, **PROTECTED), CREATED, True),
        ("CREATE", "ConfigMap", None, an(CREATED, **PROTECTED), CREATED, False),
        ("CREATE", "Job", None, an(MARK, **HOLD), CREATED, True),
        ("CREATE", "Job", None, an(MARK, **OWNED), CREATED, False),
        ("CREATE", "Binding", None, an(CREATED), CREATED, False),
        ("UPDATE", "Namespace", an({**ACCEPT, **MARK}), an({**ACCEPT, **MARK}, **OWNED), ACCEPT, False),
        ("UPDATE", "Job", an(MARK, **KEPT_AND_HELD), an(MARK, **KEPT), {}, True),
        ("UPDATE", "Job", an(MARK, **KEPT_AND_HELD), an(MARK), {}, False),
        ("UPDATE", "Job", an(MARK), an(MARK, **OWNED), {}, False),
        ("UPDATE", "Job", an({}), an(MARK), ACCEPT, False),
        ("UPDATE", "Job", an(MARK), an(MARK), {}, True),
        ("DELETE", "Job", an(MARK), None, {}, True),
        ("DELETE", "Job", an({}), None, {}, False),
        ("UPDATE", "Secret", an({}, **NOTE), an({}, **NOTE), {}, False),
        ("UPDATE", "Secret", an({}, **HOLD, **BY_OTHERS), an(MARK, **HOLD), {}, False),
        ("UPDATE", "Secret", an({}, **NOTE, **WRITTEN), an({}, **NOTE), {}, False),
        ("UPDATE", "Secret", an({}, **NOTE, **WRITTEN), an(MARK, **NOTE), {}, False),
        ("UPDATE", "Secret", an({}, **NOTE, **WRITTEN), an(MARK, **NOTE), CREATED, True),
        ("UPDATE", "Secret", an({}, **NOTE, **BY_OTHERS), an(MARK, **NOTE), CREATED, False),
        ("UPDATE", "Job", an({}, **NOTE, **BY_OTHERS), an(MARK, **NOTE), {}, False),
        ("UPDATE", "Job", an({}, **HOLD), an(MARK, **HOLD), ACCEPT, False),
        ("UPDATE", "Job", an({}, **HOLD, **WRITTEN), an(MARK, **HOLD), {}, True),
        ("DELETE", "Job", an({}, **HOLD, **BY_OTHERS), None, {}, False),
        ("DELETE", "Job", an({}, **NOTE), None, {}, False),
        ("DELETE", "Job", an({}, **HOLD, **WRITTEN), None, {}, True),
        ("UPDATE", "Secret", an(MARK, **BY_OTHERS), an(MARK), ACCEPT, False),
        ("UPDATE", "Secret", an(CREATED, **BY_OTHERS), an({}), {}, False),
        ("DELETE", "Secret", an(CREATED, **BY_OTHERS), None, {}, False),
        ("UPDATE", "Job", an(MARK, **BY_OTHERS), an(MARK), {}, False),
        ("DELETE", "Job", an(MARK, **BY_OTHERS), None, {}, False),
        ("DELETE", "Job", an(MARK, **BY_OTHERS), None, ACCEPT, True),
        ("DELETE", "Job", an(MARK, **BY_OTHERS), None, OTHER, False),
        ("UPDATE", "Job", an(MARK, **HOLD, **BY_OTHERS, **ENDING), an(MARK, **ENDING), {}, True),
    ],
)  # fmt: skip
def test_the_policy_judges_the_stored_object(
    operation: str, kind: str, old: Json | None, new: Json | None, space: Json, allowed: bool
) -> None:
    """Marks in the request unlock nothing; `created-by`, consent and levels cannot be changed."""
    assert is_allowed(operation, kind, old, new, space) is allowed


def a_job(spec: Json, *, started: bool = True, ends: bool = False) -> Json:
    """A Job of the agent's; one that was not started has the mark."""
    mark = {} if started else {"annotations": {"roadstead.dev/not-started": "true"}}
    return {**an(MARK, **mark, **(ENDING if ends else {})), "spec": {"template": TEMPLATE, **spec}}


TEMPLATE: Json = {"spec": {"containers": [{"name": "main", "image": "theirs"}]}}
OTHER_PODS: Json = {"spec": {"containers": [{"name": "main", "image": "ours"}]}}
WAITS = {"suspend": True, "parallelism": 2, "completions": 4}
RUNS = {"suspend": False, "parallelism": 2, "completions": 4}
DEADLINE = {"activeDeadlineSeconds": 60}


@pytest.mark.parametrize(
    ("old", "new", "grows"),
    [
        (a_job(WAITS), a_job(RUNS), True),
        (a_job(WAITS), a_job({"parallelism": 2, "completions": 4}), True),
        (a_job(WAITS, started=False), a_job(WAITS), True),
        (a_job(RUNS), a_job({**RUNS, "parallelism": 3}), True),
        (a_job({}), a_job({"parallelism": 2}), True),
        (a_job(WAITS), a_job({**WAITS, "template": OTHER_PODS}), True),
        (
            a_job(WAITS, started=False),
            a_job({**WAITS, "template": OTHER_PODS}, started=False),
            True,
        ),
        (a_job(RUNS), a_job({**RUNS, "completions": 5}), True),
        (a_job(RUNS), a_job({**RUNS, "parallelism": 1}), False),
        (a_job(RUNS), a_job({**RUNS, "completions": 3}), False),
        (a_job(RUNS), a_job(WAITS), False),
        (a_job(RUNS), a_job(RUNS), False),
        (a_job(WAITS, started=False), a_job(WAITS, started=False), False),
        (a_job(WAITS, ends=True), a_job(RUNS, ends=True), True),
        (a_job(WAITS, started=False, ends=True), a_job(WAITS, ends=True), False),
        (a_job({**RUNS, "backoffLimit": 1}), a_job({**RUNS, "backoffLimit": 2}), True),
        (a_job({**RUNS, "backoffLimit": 2}), a_job({**RUNS, "backoffLimit": 1}), False),
        (a_job(RUNS), a_job({**RUNS, "backoffLimit": 7}), True),
        (a_job({**RUNS, **DEADLINE}), a_job(RUNS), True),
        (a_job({**RUNS, **DEADLINE}), a_job({**RUNS, "activeDeadlineSeconds": 61}), True),
        (a_job({**RUNS, **DEADLINE}), a_job({**RUNS, "activeDeadlineSeconds": 59}), False),
        (a_job(RUNS), a_job({**RUNS, **DEADLINE}), False),
        (a_job({**RUNS, "maxFailedIndexes": 1}), a_job(RUNS), True),
    ],
)
def test_no_job_grows_or_starts_once_consent_is_withdrawn(
    old: Json, new: Json, grows: bool
) -> None:
    """Nor does it get other pods, tries or time, unless the namespace accepts the hub or is its own."""
    assert is_allowed("UPDATE", "Job", old, new, {}) is not grows
    assert is_allowed("UPDATE", "Job", old, new, {"roadstead.dev/accept": "z"}) is not grows
    assert is_allowed("UPDATE", "Job", old, new, ACCEPT)
    assert is_allowed("UPDATE", "Job", old, new, CREATED)


HAD: Json = {"data": {"a": "1"}}
THEIRS = {"app": "theirs"}


@pytest.mark.parametrize(
    ("labels", "changed", "allowed"),
    [
        (THEIRS, {}, True),
        (THEIRS, {"data": {"a": "2"}}, False),
        (THEIRS, {"data": None}, False),
        (THEIRS, {"stringData": {"b": "2"}}, False),
        ({**THEIRS, "app": "evil"}, {}, False),
        ({"app": "evil"}, {}, False),
        ({}, {}, False),
        ({**THEIRS, **MARK}, {"data": {"a": "2"}}, True),
    ],
    ids=["released", "changed", "emptied", "added to", "labelled", "relabelled", "bared", "kept"],
)
@pytest.mark.parametrize("space", [{}, ACCEPT], ids=["without consent", "with consent"])
def test_a_release_changes_nothing_but_our_marks(
    labels: Json, changed: Json, allowed: bool, space: Json
) -> None:
    """The request that removes the mark is the last one; a change needs the mark, and consent."""
    old = {**an({**THEIRS, **MARK}, **NOTE), **HAD}
    made = {**an(labels, **WRITTEN), **HAD, **changed}
    new = {key: value for key, value in made.items() if value is not None}
    expected = allowed and ("roadstead.dev/managed-by" not in labels or space == ACCEPT)
    assert is_allowed("UPDATE", "Secret", old, new, space) is expected


def test_a_release_leaves_other_annotations() -> None:
    """An annotation of a Service may make it a load balancer's."""
    old = an(MARK, annotations={**NOTE["annotations"], "example.com/a": "b"})
    for left, allowed in (
        ({"example.com/a": "b"}, True),
        ({}, False),
        ({"example.com/a": "c"}, False),
    ):
        released = an({}, annotations=left, **WRITTEN)
        assert is_allowed("UPDATE", "Service", old, released, {}) is allowed


@pytest.mark.parametrize(
    ("kind", "change"),
    [("Secret", {"data": {"a": "2"}}), ("Service", {"spec": {}}), ("ConfigMap", {"metadata": {}})],
)
@pytest.mark.parametrize("namespace", ["finance", "kube-system"])
def test_what_is_being_deleted_is_not_changed_any_more(
    kind: str, change: Json, namespace: str
) -> None:
    """The agent can request the deletion itself: without consent it may remove only its marks."""
    old = {**an({**CREATED, **THEIRS}, **ENDING, **KEPT), **HAD}
    new = {**an(CREATED, **ENDING, **KEPT), **HAD} if "metadata" in change else {**old, **change}
    assert not is_allowed("UPDATE", kind, old, new, {}, namespace)
    noted = {**old, "metadata": {**old["metadata"], **NOTE}}
    assert is_allowed("UPDATE", kind, old, noted, {}, namespace)


@pytest.mark.parametrize(
    ("stored", "allowed"),
    [
        (MARK, False),
        (TAKEN, False),
        ({**TAKEN, **ACCEPT}, True),
        ({**MARK, **ACCEPT}, True),
        ({**CREATED, **TAKEN}, True),
    ],
)
def test_a_cluster_scoped_object_is_changed_with_consent_alone(
    stored: Json, allowed: bool
) -> None:
    """The object carries the consent; an object that the agent created needs none, nor does a release."""
    old, new = an(stored), {**an(stored), "globalDefault": True}
    assert is_allowed("UPDATE", "PriorityClass", old, new, {}) is allowed
    left = {key: value for key, value in stored.items() if key in ACCEPT}
    assert is_allowed("UPDATE", "PriorityClass", old, an(left, **WRITTEN), {})


@pytest.mark.parametrize(
    ("operation", "old", "new", "allowed"),
    [
        ("CREATE", None, an(CREATED, **ENDING), False),
        ("UPDATE", an(MARK), an(MARK, **ENDING), False),
        ("UPDATE", an(MARK, **ENDING), an(MARK, **ENDING), True),
        ("UPDATE", an(MARK), an(MARK), False),
    ],
)
def test_a_denied_namespace_is_open_to_what_is_being_deleted_there(
    operation: str, old: Json | None, new: Json, allowed: bool
) -> None:
    """The stored object decides; a request that claims a deletion unlocks nothing."""
    assert is_allowed(operation, "Secret", old, new, {}, "kube-system") is allowed

"""In which states an object is, by the status mappings of its definition."""

import pytest

from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.states import is_true
from tests.workkinds.build import a_job, a_karta, a_pod, a_swarm, an_object, read

CONDITION = {"type": "Ready", "status": "True", "reason": "AllReady", "message": "all is well"}


def _states(mappings, status, **definition):
    said = {"statusMappings": mappings, "conditionsDefinition": {"path": ".status.conditions"}}
    said["phaseDefinition"] = {"path": ".status.phase"}
    swarm = {**a_swarm(), "status": status}
    return read(swarm, by=[a_karta(statusDefinition={**said, **definition})]).states


@pytest.mark.parametrize(
    ("matcher", "matches"),
    [
        ({"byPhase": "Up"}, True),
        ({"byPhase": "Down"}, False),
        ({"byConditions": [{"type": "Ready", "status": "True"}]}, True),
        ({"byConditions": [{"type": "Ready", "reason": "AllReady"}]}, True),
        ({"byConditions": [{"type": "Ready", "status": "False"}]}, False),
        ({"byConditions": [{"type": "Ready", "status": "True"}, {"type": "Other"}]}, False),
        ({"byExpression": {"expression": ".status.n", "expectedResult": "3"}}, True),
        ({"byExpression": {"expression": ".status.n > 3", "expectedResult": "true"}}, False),
        ({"byExpression": {"expression": ".status.n > 3", "expectedResult": False}}, True),
        ({"byConditions": [{"type": "Ready", "status": True}]}, True),
        ({"byConditions": [{"type": "Ready", "status": False}]}, False),
        ({"byExpression": {"expression": ".status.n.m", "expectedResult": "true"}}, False),
        (
            {
                "byPhase": "Up",
                "byExpression": {"expression": ".status.n == 3", "expectedResult": "true"},
            },
            True,
        ),
        (
            {
                "byPhase": "Up",
                "byExpression": {"expression": ".status.n == 4", "expectedResult": "true"},
            },
            False,
        ),
    ],
)
def test_inside_one_matcher_all_must_hold(matcher, matches):
    """Phase, conditions and expression; an expression at fault does not match."""
    status = {"phase": "Up", "n": 3, "conditions": [CONDITION]}
    assert _states({"running": [matcher]}, status) == (("running",) if matches else ())


def test_matchers_of_a_state_are_alternatives():
    """One will do."""
    assert _states({"failed": [{"byPhase": "No"}, {"byPhase": "Bad"}]}, {"phase": "Bad"}) == (
        "failed",
    )


def test_several_states_may_hold_at_once():
    """All are told, in one order."""
    mappings = {"degraded": [{"byPhase": "Up"}], "running": [{"byPhase": "Up"}]}
    assert _states(mappings, {"phase": "Up"}) == ("running", "degraded")


def test_no_match_is_unknown():
    """Neither finished nor failed."""
    assert _states({"completed": [{"byPhase": "Done"}]}, {"phase": "Odd"}) == ()


def test_the_fields_of_conditions_may_have_other_names():
    """As the definition says."""
    conditions = {"path": ".status.marks", "typeFieldName": "name", "statusFieldName": "is"}
    status = {"marks": [{"name": "Ready", "is": "yes"}]}
    matcher = {"byConditions": [{"type": "Ready", "status": "yes"}]}
    assert _states({"running": [matcher]}, status, conditionsDefinition=conditions) == ("running",)


def _conditions(*types):
    return {"conditions": [{"type": each, "status": "True"} for each in types]}


@pytest.mark.parametrize(
    ("status", "states"),
    [
        ({}, ()),
        ({"active": 2}, ("initializing",)),
        ({"active": 2, "ready": 1}, ("running",)),
        (_conditions("SuccessCriteriaMet"), ()),
        (_conditions("Complete"), ("completed",)),
        (_conditions("Failed"), ("failed",)),
        (_conditions("Suspended"), ("suspended",)),
    ],
)
def test_states_of_a_job(status, states):
    """Between its criteria and its end it is unknown, which keeps its quota."""
    assert read({**a_job(), "status": status}).states == states


def test_a_job_that_is_told_to_stop_is_suspending():
    """While pods are left."""
    assert read({**a_job(suspend=True), "status": {"active": 1}}).states == ("suspending",)


@pytest.mark.parametrize(
    ("deployment", "job", "states"),
    [
        ("Complete", "SUCCEEDED", ("completed",)),
        ("Complete", "FAILED", ("failed",)),
        ("Failed", "", ("failed",)),
        ("Running", "RUNNING", ("running",)),
        ("Suspended", "", ("suspended",)),
        ("ValidationFailed", "", ()),
    ],
)
def test_states_of_a_ray_job(deployment, job, states):
    """A cluster that is done says of its job how it went."""
    spec = {
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": {"headGroupSpec": {"template": a_pod()}},
    }
    status = {"jobDeploymentStatus": deployment, "jobStatus": job}
    assert read({**an_object("ray.io/v1", "RayJob", spec), "status": status}).states == states


@pytest.mark.parametrize(
    ("expression", "answer"),
    [(".a == 1", True), (".a == 2", False), (".a", None), (".a.b", None), (".c[]", None)],
)
def test_a_predicate_that_is_at_fault_says_nothing(expression, answer):
    """Neither ready nor idle: quota is kept."""
    assert is_true(expression, {"a": 1}, JqLanguage()) is answer

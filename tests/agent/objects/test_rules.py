"""Rules as data: the built-in ones, those declared on the hub, and what is believed of a kind without any."""

import pytest

from agent.objects.rules import AvailabilityRules
from shared.expressions.expression import compiled
from shared.kinds.availability_rules import BUILT_IN, Rule
from tests.agent.objects.statuses import an, condition

KUEUE, ARGO, CERTS = "kueue.x-k8s.io/v1beta2", "argoproj.io/v1alpha1", "cert-manager.io/v1"
NOT_READY = condition("Ready", "False", reason="Pending", message="waits for DNS")


def a_queue(*conditions, kind="ClusterQueue", **more):
    return an(KUEUE, kind, **more, conditions=list(conditions))


def a_workload(*conditions):
    return a_queue(*conditions, kind="Workload")


def argo(kind, generation=1, **status):
    return an(ARGO, kind, generation=generation, **status)


def an_application(sync, health):
    return argo("Application", sync={"status": sync}, health={"status": health})


def a_certificate(*conditions, kind="Certificate", generation=1):
    return an(CERTS, kind, generation=generation, conditions=list(conditions))


STOPPED = condition("Active", "False", reason="FlavorNotFound", message="no flavor gpu")
# What, the object, why not: None where it is available.
CASES = [
    ("queue", a_queue(condition("Active")), None),
    ("queue without flavor", a_queue(STOPPED), "no flavor gpu"),
    ("queue untold", a_queue(), "it has no condition Active yet"),
    ("queue changed", a_queue(condition("Active", observedGeneration=1), generation=2),
     "its condition Active is of an earlier generation"),
    ("local queue", a_queue(condition("Active"), kind="LocalQueue"), None),
    ("check", a_queue(STOPPED, kind="AdmissionCheck"), "no flavor gpu"),
    ("flavor", an(KUEUE, "ResourceFlavor"), None),
    ("workload waiting", a_workload(condition("QuotaReserved")), "it has no condition Admitted yet"),
    ("workload admitted", a_workload(condition("Admitted")), None),
    ("workload done", a_workload(condition("Finished", reason="Succeeded")), None),
    ("workload failed", a_workload(condition("Finished", reason="Failed")), "this does not hold"),
    ("workflow", argo("Workflow", phase="Running"), None),
    ("workflow done", argo("Workflow", phase="Succeeded"), None),
    ("workflow failed", argo("Workflow", phase="Failed", message="exit 1"), "exit 1"),
    ("workflow waiting", argo("Workflow", phase="Pending"), "its phase is Pending"),
    ("workflow untold", argo("Workflow"), "its status does not tell yet: it has no field phase"),
    ("cron workflow", argo("CronWorkflow"), None),
    ("cron workflow refused", argo("CronWorkflow", conditions=[
        condition("SpecError", message="bad schedule")]), "bad schedule"),
    ("rollout", argo("Rollout", phase="Healthy", observedGeneration="1"), None),
    ("rollout paused", argo("Rollout", phase="Paused", observedGeneration="1", message="step"), "step"),
    ("rollout stale", argo("Rollout", 2, phase="Healthy", observedGeneration="1"), "phase is Healthy"),
    ("application", an_application("Synced", "Healthy"), None),
    ("application late", an_application("OutOfSync", "Healthy"), "it is OutOfSync and Healthy"),
    ("certificate", a_certificate(condition("Ready", observedGeneration=1)), None),
    ("certificate waits", a_certificate(NOT_READY), "waits for DNS"),
    ("certificate changed", a_certificate(condition("Ready", observedGeneration=1), generation=2),
     "its condition Ready is of an earlier generation"),
    ("issuer", a_certificate(condition("Ready"), kind="ClusterIssuer"), None),
    ("template", argo("WorkflowTemplate"), None),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "why"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_kinds_of_kueue_argo_and_cert_manager_have_rules(obj, why):
    """By what their controllers write; the words are the condition's, or the kind's own."""
    told = AvailabilityRules().judge(obj)
    assert told.available is (why is None)
    assert (why or "") in told.message


@pytest.mark.parametrize("key", sorted(BUILT_IN), ids="/".join)
def test_each_built_in_rule_is_an_expression(key):
    """And so is its message."""
    rule = BUILT_IN[key]
    compiled(rule.available)
    if rule.message:
        compiled(rule.message, str)


@pytest.mark.parametrize(
    ("obj", "available"),
    [
        (an("example.org/v1", "Thing", conditions=[condition("Ready")]), True),
        (an("example.org/v1", "Thing", conditions=[NOT_READY]), False),
        (an("example.org/v1", "Thing", conditions=[condition("Ready", "Unknown")]), False),
        (an("example.org/v1", "Thing", conditions=[condition("Available")]), True),
        (an("example.org/v1", "Thing", conditions=[condition("Available"), NOT_READY]), False),
        (an("example.org/v1", "Thing", conditions=[condition("Synced")]), None),
        (an("example.org/v1", "Thing"), None),
        (an("example.org/v1", "Thing", generation=2, observedGeneration=1,
            conditions=[condition("Ready")]), False),
        (an("example.org/v1", "Thing", generation=2,
            conditions=[condition("Ready", observedGeneration=1)]), False),
        (an("example.org/v1", "Thing") | {"status": "well"}, None),
    ],
)  # fmt: skip
def test_without_a_rule_the_summing_condition_is_believed(obj, available):
    """Ready, or else Available, of the present generation; without either nobody can tell."""
    assert AvailabilityRules().judge(obj).available is available


THING = ("example.org", "Thing")


def declared(available, message=""):
    rules = AvailabilityRules()
    rules.declare(1, {THING: Rule(available, message)})
    return rules


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (declared("object.status.size == 2"), (True, "")),
        (declared("object.status.size == 3"), (False, "this does not hold: object.status.size == 3")),
        (declared("object.status.size == 3", "string(object.status.size) + ' of 3'"), (False, "2 of 3")),
        (declared("object.status.size == 3", "object.nothing"), (False, "this does not hold")),
        (declared("object.status.nothing == 3"), (False, "its status does not tell yet")),
        (declared("object.status.size / 0 == 3"), (False, "can not be told: division by zero")),
        (declared("a_function_of_a_later_release()"), (None, "")),
    ],
)  # fmt: skip
def test_a_declared_rule_decides(rules, told):
    """What can not be evaluated is not available, and says so; what is no expression here is not judged."""
    verdict = rules.judge(an("example.org/v1", "Thing", size=2))
    assert verdict.available is told[0]
    assert told[1] in verdict.message


def test_what_is_declared_goes_before_what_is_built_in_and_no_kind_of_kubernetes_is_declared():
    """The kinds whose rules have changed are told; what is no longer declared has its former rule."""
    rules = AvailabilityRules()
    given = {
        (KUEUE.partition("/")[0], "ClusterQueue"): Rule("false"),
        ("", "ConfigMap"): Rule("false"),
    }
    assert rules.declare(7, given) == {"ClusterQueue", "ConfigMap"}
    assert rules.revision == 7
    assert rules.judge(a_queue(condition("Active"))).available is False
    assert rules.judge(an("v1", "ConfigMap")).available is True
    assert rules.declare(8, given) == frozenset()
    assert rules.declare(9, {}) == {"ClusterQueue", "ConfigMap"}
    assert rules.judge(a_queue(condition("Active"))).available is True

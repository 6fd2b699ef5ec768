"""SparkApplications as jobs: their templates are written for them, and nothing runs beside the charge."""

from typing import Any

import pytest

from hub.services.reading.work_kinds import ReadWork, read_work
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.kinds.fleet import a_sparkapplication, a_template
from tests.services.kinds.reading import refused

Json = dict[str, Any]


def _read(manifest: Json) -> ReadWork:
    read = read_work(parse(manifest))
    assert read is not None
    return read


def _with(**changes: Any) -> Json:
    made = a_sparkapplication()
    for path, value in changes.items():
        at = made["spec"]
        *way, last = path.split("__")
        for step in way:
            at = at.setdefault(step, {})
        at[last] = value
    return made


def test_each_role_is_charged_by_its_fields():
    """Cores, memory and Spark's overhead, of the driver and of each executor."""
    read = _read(a_sparkapplication())
    assert [(each.name, each.count) for each in read.pod_sets] == [("driver", 1), ("executor", 2)]
    assert [each.requests["cpu"] for each in read.pod_sets] == [1000, 2000]


def test_the_hub_writes_templates_where_there_are_none():
    """Its pods carry the job's marks by them; the driver asks for the token that it starts executors with."""
    filled = {each["path"]: each["value"] for each in _read(a_sparkapplication()).form.filled}
    assert filled.keys() == {"/spec/driver/template", "/spec/executor/template"}
    assert filled["/spec/driver/template"]["spec"]["automountServiceAccountToken"] is True
    assert "automountServiceAccountToken" not in filled["/spec/executor/template"]["spec"]


def test_a_given_template_stays_and_the_driver_gets_its_token():
    """Its container needs no image: Spark writes that of the application."""
    template = a_template()
    del template["spec"]["containers"][0]["image"]
    told = list(_read(_with(driver__template=template)).form.filled)
    at = "/spec/driver/template/spec/automountServiceAccountToken"
    assert {"path": at, "value": True} in told
    assert "/spec/driver/template" not in {each["path"] for each in told}


def test_what_a_template_asks_besides_cpu_and_memory_is_charged():
    """Spark takes cpu and memory from its own fields, and leaves the rest as it is."""
    template = a_template(**{"nvidia.com/gpu": "1", "cpu": "9"})
    _, executor = _read(_with(executor__template=template)).pod_sets
    assert (executor.requests["nvidia.com/gpu"], executor.requests["cpu"]) == (1, 2000)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sparkConf": {"spark.executor.instances": "9"}}, "spec.sparkConf[spark.executor.instances]"),
        ({"sparkConf": {"spark.executor.memory": "9g"}}, "spec.sparkConf[spark.executor.memory]"),
        (
            {"sparkConf": {"spark.dynamicAllocation.enabled": "true"}},
            "spec.sparkConf[spark.dynamicAllocation.enabled]",
        ),
        (
            {"sparkConf": {"spark.kubernetes.driver.podTemplateFile": "/x"}},
            "spec.sparkConf[spark.kubernetes.driver.podTemplateFile]",
        ),
        ({"restartPolicy": {"type": "Always"}}, "spec.restartPolicy"),
        (
            {"restartPolicy": {"type": "OnFailure", "onSubmissionFailureRetries": 3}},
            "spec.restartPolicy",
        ),
    ],
)  # fmt: skip
def test_what_would_run_beside_the_charge_is_refused_with_its_field(changes, field):
    """Settings that go before the fields, and tries after the end."""
    assert refused(_with(**changes)) == ("InvalidValue", field)


def test_other_settings_pass():
    """Tries before the end are within the job's quota."""
    policy = {"type": "OnFailure", "onFailureRetries": 2}
    _read(_with(sparkConf={"spark.eventLog.enabled": "true"}, restartPolicy=policy))


@pytest.mark.parametrize(
    "changes", [{"mode": "client"}, {"dynamicAllocation": {"enabled": True}}], ids=str
)
def test_the_definition_refuses_what_nobody_can_charge(changes):
    """A driver outside the cluster, executors without a number."""
    with pytest.raises(Rejected):
        _read(_with(**changes))


def test_it_is_deleted_by_the_hub_alone():
    """`timeToLiveSeconds` stays on the hub: its operator would delete it before its end is stored."""
    app = a_sparkapplication()
    app["spec"]["timeToLiveSeconds"] = 40
    read = read_work(parse(app))
    assert read is not None
    assert read.form.ttl_s == 40
    assert "/spec/timeToLiveSeconds" in read.form.removed

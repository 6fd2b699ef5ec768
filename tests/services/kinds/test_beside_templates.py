"""Fields beside pod templates that an operator makes pods or Services of: hub and agent refuse the same."""

import copy
from typing import Any

import pytest

from agent.decide.member_policy import MemberPolicy
from hub.services.context.settings import Settings
from shared import podsecurity
from shared.podsecurity import Rules
from shared.wire.agent_v1 import Work
from tests.api.serving import served
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import (
    a_fleet,
    a_jobset,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    a_sparkapplication,
    a_template,
    an_appwrapper,
)

pytestmark = pytest.mark.anyio
Json = dict[str, Any]
Row = tuple[Json, list[str], Any, str, str]
UID = "roadstead.dev/job-uid"
RAY = ["spec", "rayClusterSpec"]
WRAPPED = ["spec", "components", "0", "template", *RAY]
PUBLIC = {"spec": {"type": "LoadBalancer"}}
FIXED = {"spec": {"externalIPs": ["10.0.0.1"]}}
NAMED = {"metadata": {"name": "theirs"}}


def a_wrapped_rayjob() -> Json:
    """An AppWrapper of one RayJob."""
    inner = a_rayjob("both-ray", "")
    del inner["metadata"]["namespace"]
    made = an_appwrapper()
    made["spec"]["components"] = [{"template": inner}]
    return made


def a_wrapped_service() -> Json:
    """An AppWrapper with a Service beside its Job."""
    made = an_appwrapper()
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "both-door"},
        "spec": {},
    }
    made["spec"]["components"].append({"template": service})
    return made


def _settings() -> list[Row]:
    names = [
        "spark.kubernetes.driver.volumes.hostPath.v.mount.path",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.driverEnv.ROADSTEAD_JOB_UID",
        "spark.kubernetes.driver.label.team",
        "spark.executorEnv.ROADSTEAD_EPOCH",
        "spark.master",
        "spark.submit.deployMode",
        "spark.master=local,x",
        " spark.master",
    ]
    at = ["spec", "sparkConf"]
    return [
        (a_sparkapplication(), [*at, name], "x", f"spec.sparkConf[{name}]", "ForbiddenField")
        for name in names
    ]


def _spark() -> list[Row]:
    rows: list[tuple[list[str], Any]] = [
        (["driver", "priorityClassName"], "system-node-critical"),
        (["driver", "schedulerName"], "mine"),
        (["driver", "tolerations"], [{"operator": "Exists"}]),
        (["executor", "nodeSelector"], {"pool": "other"}),
        (["driver", "podName"], "theirs"),
        (["driver", "hostNetwork"], True),
        (["executor", "env"], [{"name": "ROADSTEAD_EPOCH", "value": "9"}]),
        (["batchSchedulerOptions"], {"priorityClassName": "system-node-critical"}),
        (["sparkConfigMap"], "settings"),
        (["volumes"], [{"name": "v", "emptyDir": {}}]),
        (["sparkUIOptions"], {"serviceType": "LoadBalancer"}),
        (["driver", "javaOptions"], '-Xss1m -D"spark.master=local"'),
    ]
    return [
        *(
            (a_sparkapplication(), ["spec", *at], value, ".".join(["spec", *at]), "ForbiddenField")
            for at, value in rows
        ),
        (
            a_sparkapplication(), ["spec", "driver", "serviceAccount"], "admin",
            "spec.driver.serviceAccount", "ServiceAccountNotAllowed",
        ),
        (
            a_sparkapplication(), ["spec", "sparkConf", "spark.executor.extraJavaOptions"],
            "-Dspark.master=local", "spec.sparkConf[spark.executor.extraJavaOptions]",
            "ForbiddenField",
        ),
        (
            a_sparkapplication(), ["spec", "mainApplicationFile"], "--conf",
            "spec.mainApplicationFile", "ForbiddenField",
        ),
        (a_sparkapplication(), ["spec", "mode"], "client", "spec.mode", "InvalidValue"),
        (
            a_sparkapplication(), ["spec", "mode"], "in-cluster-client", "spec.mode",
            "InvalidValue",
        ),
    ]  # fmt: skip


def _marks() -> list[Row]:
    return [
        (made, [*at, key], "other", f"{'.'.join(at)}[{key}]".replace("Specs.0", "Specs[0]"), code)
        for made, at, key, code in (
            (a_sparkapplication(), ["spec", "driver", "labels"], UID, "ReservedLabel"),
            (a_sparkapplication(), ["spec", "executor", "labels"], "job-name", "ReservedLabel"),
            (
                a_sparkapplication(), ["spec", "driver", "annotations"],
                "roadstead.dev/not-started", "UnknownAnnotation",
            ),
            (a_raycluster(), ["spec", "headGroupSpec", "labels"], UID, "ReservedLabel"),
            (a_rayjob(), [*RAY, "workerGroupSpecs", "0", "labels"], UID, "ReservedLabel"),
            (
                a_rayservice(), ["spec", "rayClusterConfig", "headGroupSpec", "labels"], UID,
                "ReservedLabel",
            ),
            (a_jobset(), ["spec", "podLabels"], UID, "ReservedLabel"),
        )
    ]  # fmt: skip


def _services() -> list[Row]:
    served_by = "spec.serveService"
    return [
        (
            a_rayservice(), ["spec", "serveService"], PUBLIC, f"{served_by}.spec.type",
            "PolicyViolation",
        ),
        (
            a_rayservice(), ["spec", "serveService"], FIXED, f"{served_by}.spec.externalIPs",
            "PolicyViolation",
        ),
        (
            a_rayservice(), ["spec", "serveService"], {"metadata": {"finalizers": ["x/y"]}},
            f"{served_by}.metadata.finalizers", "ForbiddenField",
        ),
        *(
            (made, [*at, "headGroupSpec", *field], value, ".".join([*at, "headGroupSpec", told]), code)
            for made, at in (
                (a_raycluster(), ["spec"]),
                (a_rayjob(), RAY),
                (a_rayservice(), ["spec", "rayClusterConfig"]),
            )
            for field, value, told, code in (
                (["headService"], PUBLIC, "headService.spec.type", "PolicyViolation"),
                (["headService"], NAMED, "headService.metadata.name", "ForbiddenField"),
                (["serviceType"], "NodePort", "serviceType", "PolicyViolation"),
                (["enableIngress"], True, "enableIngress", "ForbiddenField"),
            )
        ),
        (
            a_wrapped_rayjob(), [*WRAPPED, "headGroupSpec", "serviceType"], "LoadBalancer",
            "spec.components[0].template.spec.rayClusterSpec.headGroupSpec.serviceType",
            "PolicyViolation",
        ),
    ]  # fmt: skip


def _wrappers() -> list[Row]:
    at = ["spec", "components", "0"]
    told = "spec.components[0]"
    merged: list[Json] = [
        {"tolerations": [{"operator": "Exists"}]},
        {"nodeSelector": {"pool": "other"}},
        {"schedulingGates": [{"name": "a/b"}]},
        {"annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
        {"labels": {"kueue.x-k8s.io/queue-name": "other"}},
    ]
    others = [
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("v1", "Secret"),
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("apps/v1", "Deployment"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("workload.codeflare.dev/v1beta2", "AppWrapper"),
    ]
    made = a_wrapped_rayjob
    return [
        *(
            (made(), [*at, "podSetInfos"], [each], f"{told}.podSetInfos", "ForbiddenField")
            for each in merged
        ),
        (made(), [*at, "podSpecs"], [{"size": 3}], f"{told}.podSpecs", "ForbiddenField"),
        *(
            (
                made(), [*at, "template"],
                {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}},
                f"{told}.template.kind", "UnsupportedKind",
            )
            for version, kind in others
        ),
    ]  # fmt: skip


ROWS = [*_settings(), *_spark(), *_marks(), *_services(), *_wrappers()]
EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]['kind']}:{row[3]}")


def written(manifest: Json, at: list[str], value: Any) -> Json:
    """A copy of the manifest with one more value."""
    made = copy.deepcopy(manifest)
    here: Any = made
    *way, last = at
    for step in way:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    here[last] = value
    return made


@EACH
def test_the_field_is_refused_at_every_level(row: Row) -> None:
    """By one rule, which names the field; the object without it breaks none."""
    manifest, at, value, field, code = row
    found = podsecurity.check_pods(written(manifest, at, value), "team-a", "privileged", Rules())
    assert (field, code) in [(each.field, each.code) for each in found]
    assert podsecurity.check_pods(manifest, "team-a", "baseline", Rules()) == []


async def test_the_hub_refuses_each_at_its_doors(tmp_path) -> None:
    """Submitted and applied."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q", quota={"cpu": "9", "memory": "99Gi"}):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        for manifest, at, value, field, _ in ROWS:
            wrong = written(manifest, at, value)
            submitted = await hub.admin.post("/v1/jobs", json=wrong)
            assert submitted.status_code == 422, field
            assert field in submitted.text
            applied = await hub.admin.post("/v1/apply", json=wrong)
            assert applied.json()["items"][0]["result"] not in ("created", "configured"), field
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_the_agent_refuses_each_though_the_hub_sends_it(tmp_path) -> None:
    """In the manifest that the hub composes, with the job's marks; without the field it is taken."""
    made = {each["kind"]: each for each, *_ in ROWS}
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q", quota={"cpu": "99", "memory": "999Gi"}))
        agent = await fleet.member("east", cpu="99")
        works: dict[str, Work] = {}
        for number, (kind, manifest) in enumerate(made.items()):
            named = written(manifest, ["metadata", "name"], f"w{number}")
            (uid,) = await fleet.apply(named)
            told = await fleet.told(agent, uid)
            works[kind] = Work.model_validate({name: told[name] for name in Work.model_fields})
    for manifest, at, value, field, _ in ROWS:
        work = works[manifest["kind"]]
        assert work.manifest is not None
        assert MemberPolicy().refuse(work, "Create") is None
        sent = work.model_copy(update={"manifest": written(work.manifest, at, value)})
        trouble = MemberPolicy().refuse(sent, "Create")
        assert trouble is not None, field
        assert trouble.reason == "RefusedByMember"
        assert f": {field}: " in trouble.message


def test_a_wrapped_service_stands_within_the_cluster() -> None:
    """Its operator makes it with its own rights; a Service that is placed is a person's own choice."""
    wrapped = a_wrapped_service()
    assert podsecurity.check_pods(wrapped, "team-a", "baseline", Rules()) == []
    at = ["spec", "components", "2", "template", "spec", "externalIPs"]
    found = podsecurity.check_pods(
        written(wrapped, at, ["10.0.0.1"]), "team-a", "baseline", Rules()
    )
    assert [each.field for each in found] == ["spec.components[2].template.spec.externalIPs"]


def test_an_ordinary_sparkapplication_passes() -> None:
    """Settings that change no pod, an account that is allowed, people's own labels, a template."""
    made = a_sparkapplication()
    made["spec"] |= {
        "sparkConf": {"spark.eventLog.enabled": "true", "spark.sql.shuffle.partitions": "8"},
        "hadoopConf": {"fs.s3a.endpoint": "https://s3"},
        "arguments": ["--day", "1"],
        "volumes": [],
    }
    made["spec"]["driver"] |= {
        "serviceAccount": "spark",
        "labels": {"team": "a"},
        "annotations": {"team": "a"},
        "javaOptions": "-Xss4m",
        "template": a_template(),
    }
    rules = Rules(service_accounts="default,team-a/spark")
    assert podsecurity.check_pods(made, "team-a", "baseline", rules) == []


@pytest.mark.parametrize("template", [{}, {"spec": {"serviceAccountName": "admin"}}])
def test_a_template_without_containers_is_refused(template: Json) -> None:
    """Spark would merge its other fields, and no rule would know it as a template."""
    made = written(a_sparkapplication(), ["spec", "driver", "template"], template)
    found = podsecurity.check_pods(made, "team-a", "privileged", Rules())
    assert [each.field for each in found] == ["spec.driver.template.spec.containers"]


def test_the_template_of_a_scheduled_sparkapplication_is_judged_alike() -> None:
    """It is placed as it is, and its operator makes SparkApplications of it."""
    made = written(a_sparkapplication(), ["spec", "driver", "podName"], "theirs")
    made |= {"kind": "ScheduledSparkApplication", "spec": {"template": made["spec"]}}
    found = podsecurity.check_pods(made, "team-a", "privileged", Rules())
    assert [each.field for each in found] == ["spec.template.driver.podName"]

"""Every route that changes something, and where its row of the audit is held."""

import ast
from typing import Any, Final

import pytest
from fastapi.routing import APIRoute

from hub.api.policy import AGENT, PUBLIC, policy_of
from tests.api.audited import ASKED, WORKLOAD, filled, trail
from tests.api.serving import a_job, served
from tests.house.sources import REPOSITORY

pytestmark = pytest.mark.anyio
SERVICES: Final = "tests/services"
# Asks by POST, and changes nothing; or what an executor reports, which is in the job's events.
NONE: Final = {
    "POST /v1/plan",
    "POST /v1/kinds:check",
    "PATCH /v1/workloads/{namespace}/{name}/status",
}
_ROLLOUTS: Final = f"{SERVICES}/placements/test_rollout_calls.py"
_REVISIONS: Final = f"{SERVICES}/placements/test_revisions.py"
_RESTORED: Final = f"{SERVICES}/works/test_restored.py"
_OF_PLACEMENTS: Final = {
    "evict": f"{SERVICES}/objects/test_evictions.py",
    "rebalance": f"{SERVICES}/placements/test_moving.py",
    "rollback": _REVISIONS,
}
_OF_ROLLOUTS: Final = ("approve", "resume", "rollback", "stop")
# Held elsewhere: files that look at the audit.
ELSEWHERE: Final = {
    **{
        f"POST /v1/{noun}/{place}/{verb}": file
        for place in ("{name}", "{namespace}/{name}")
        for noun, verbs in (
            ("placements", _OF_PLACEMENTS),
            ("rollouts", dict.fromkeys(_OF_ROLLOUTS, _ROLLOUTS)),
        )
        for verb, file in verbs.items()
    },
    **{
        f"POST /v1/cronjobs/{{namespace}}/{{name}}/{verb}": f"{SERVICES}/kinds/test_cron_doors.py"
        for verb in ("suspend", "resume")
    },
    "POST /v1/drift:settle": f"{SERVICES}/placements/test_settled_drift.py",
    "POST /v1/hand-over": f"{SERVICES}/objects/test_hand_over.py",
    "POST /v1/hub-cluster/resume": f"{SERVICES}/context/test_stops.py",
    "POST /v1/restored:abandon": f"{SERVICES}/removals/test_decide.py",
    "POST /v1/restored:accept": _RESTORED,
    "POST /v1/restored:remove": f"{SERVICES}/removals/test_decide.py",
    "POST /v1/restored/{uid}/adopt": _RESTORED,
    "POST /v1/restored/{uid}/forget": _RESTORED,
    "PUT /v1/availability-rules": "tests/api/test_availability.py",
    "PUT /v1/jobs/{uid}/checks/{check}": f"{SERVICES}/outside/test_records.py",
}
BINDING: Final = {"role": "viewer", "users": ["ann"]}
URGENT: Final = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "urgent"},
    "value": 10,
}
# What is asked here, with {j} for a uid, and what is written down: verb, kind, namespace and name.
HERE: Final[list[tuple[str, str, Any, tuple[str, str, str, str]]]] = [
    ("POST", "jobs", a_job("new", queue="lq"), ("submit", "Job", "team-a", "new")),
    ("POST", "jobs:batch", [a_job("m"), a_job("n")], ("submit", "Job", "team-a", "")),
    ("PUT", "access/bindings/b", BINDING, ("bind", "RoleBinding", "", "b")),
    ("DELETE", "access/bindings/b", None, ("unbind", "RoleBinding", "", "b")),
    ("POST", "apply", URGENT, ("apply", "WorkloadPriorityClass", "", "urgent")),
    ("POST", "jobs/{j}/priority", {"priorityClass": "urgent"}, ("priority", "Job", "team-a", "j")),
    ("POST", "queues/q/stop", {}, ("stop", "ClusterQueue", "", "q")),
    ("POST", "queues/q/resume", None, ("resume", "ClusterQueue", "", "q")),
    ("POST", "queues/team-a/lq/stop", {}, ("stop", "LocalQueue", "team-a", "lq")),
    ("POST", "queues/team-a/lq/resume", None, ("resume", "LocalQueue", "team-a", "lq")),
    ("POST", "retention:run", None, ("run", "Retention", "", "")),
    ("DELETE", "workloads/team-a/w", None, ("delete", "Workload", "team-a", "w")),
    ("POST", "workloads", WORKLOAD, ("submit", "Workload", "team-a", "w")),
]


async def test_what_changes_something_is_written_down_once(tmp_path):
    """With who, verb, kind, namespace and name, one row for each request."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        for method, path, body, told in HERE:
            since = len(await trail(hub))
            reply = await hub.admin.request(method, f"/v1/{path.format(**uids)}", json=body)
            assert reply.status_code < 300, reply.text
            (row,) = (await trail(hub))[since:]
            said = (row["verb"], row["kind"], row["namespace"], row["name"])
            assert (row["principal"], *said) == ("the-administrator", *told)


async def test_no_route_that_changes_something_is_forgotten(tmp_path):
    """Each is asked here or in `test_audit`, or a test of its service looks at the audit."""
    async with served(tmp_path) as hub:
        asked = {(method, f"/v1/{path.partition('?')[0]}") for method, path, *_ in (*ASKED, *HERE)}
        missing = []
        for route in hub.app.routes:
            if not isinstance(route, APIRoute) or not route.path.startswith("/v1/"):
                continue
            for method in sorted(route.methods - {"GET", "HEAD"}):
                name = f"{method} {route.path}"
                if {PUBLIC, AGENT} & (policy_of(route.endpoint) or set()) or name in NONE:
                    continue
                found = any(m == method and route.path_regex.match(path) for m, path in asked)
                if not found and name not in ELSEWHERE:
                    missing.append(name)
        assert missing == []


@pytest.mark.parametrize("file", sorted(set(ELSEWHERE.values())))
def test_who_is_said_to_look_at_the_audit_does(file):
    """By its name, in what is imported or asked."""
    text = (REPOSITORY / file).read_text()
    assert ast.parse(text)
    assert "audit" in text

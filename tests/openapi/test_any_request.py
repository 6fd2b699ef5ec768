"""Whatever the description allows, and whatever it does not: each operation, by requests that are drawn.

No error of the hub, no status, media type or header that is not described, answers as their schemas say;
what breaks the description is refused. `API_EXAMPLES` says how many requests are drawn for an operation:
five by default, a hundred by `make test-api`, which also plays every boundary of every parameter.
"""

import asyncio
import contextlib
import copy
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks
from urllib3 import HTTPResponse

from hub.api import agents
from hub.api.app import HOT, ROUTERS
from hub.api.description import describe
from tests.api.serving import a_job
from tests.openapi.seeded import A_WORKLOAD, Seeded, seeded

EXAMPLES = int(os.environ.get("API_EXAMPLES", "5"))
MANY = EXAMPLES >= 100
# A change is held to the same requests each time; `API_EXPLORE=1 make test-api` draws others.
EXPLORES = "API_EXPLORE" in os.environ
# What is there, by parameter of the path: half of the requests name something of it.
PRESENT = {
    "name": [
        "all",
        "gold",
        "c1",
        "c2",
        "budget",
        "everywhere",
        "settings",
        "bare",
        "everyone",
        "ana",
    ],
    "namespace": ["team-a", "default"],
    "group": ["core", "kueue.x-k8s.io", "batch", "placement.kubernetes-fleet.io"],
    "kind": ["ConfigMap", "Secret", "ClusterQueue", "AdmissionCheck", "Namespace", "Job"],
    "role": ["viewer", "administrator"],
    "check": ["budget"],
    "stream": ["nobody-waits"],
    "uid": [f"SEEDED-{number}" for number in range(8)],
}
BODIES = {
    "JobManifest": a_job("drawn"),
    "Manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "drawn"}},
    "WorkloadManifest": A_WORKLOAD,
    "SyncRequest": {"session": "a-session", "seq": 1, "cluster_uid": "uid-c1"},
}
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
SAFE = {"GET", "HEAD", "OPTIONS"}  # they change nothing
# path: what it is not held to, and why
EXCEPTIONS = {
    # A batch is answered 200 with one result for each Job: what is wrong with one is said there.
    "/v1/jobs:batch": [checks.negative_data_rejection],
    # Faulty entries are refused by themselves; the protocol's first version takes numbers as texts too.
    "/agent/v1/sync": [checks.negative_data_rejection],
    # 503 says that nobody in the member answers: here there is none.
    "/v1/jobs/{uid}/logs": [schemathesis.checks.not_a_server_error],
    "/v1/jobs/{uid}/pods": [schemathesis.checks.not_a_server_error],
}


def drawn_from() -> dict[str, Any]:
    """The description, with names and bodies among its values that lead somewhere."""
    routers = (*HOT, *ROUTERS, agents.router)
    told = copy.deepcopy(describe([route for router in routers for route in router.routes]))
    for path in told["paths"].values():
        for (
            operation
        ) in path.values():  # credentials have tests of their own (tests/api/test_policies)
            operation["x-caller"] = [name for each in operation.pop("security") for name in each]
            for each in operation.get("parameters", ()):
                if each["in"] == "path":
                    names = {"enum": PRESENT[each["name"]]}
                    each["schema"] = {"anyOf": [names, {"minLength": 1, **each["schema"]}]}
    for name, body in BODIES.items():
        schema = told["components"]["schemas"][name]
        told["components"]["schemas"][name] = {"anyOf": [{"const": body}, schema]}
    del told["components"]["securitySchemes"]
    return told


schema = schemathesis.openapi.from_dict(drawn_from())
schema.config.generation.update(modes=list(schemathesis.GenerationMode))
schema.config.phases.coverage.enabled = MANY


@schemathesis.serializer("application/x-ndjson")
def lines(_context: schemathesis.SerializationContext, value: Any) -> bytes:
    """One JSON document on each line."""
    documents = value if isinstance(value, list) else [value]
    return "\n".join(map(json.dumps, documents)).encode()


class Asking:
    """A seeded hub, in a loop of its own, asked one thing after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._open: list[contextlib.AbstractAsyncContextManager[Seeded]] = []
        self._is_as_seeded = False
        self._renew()

    def seed(self) -> None:
        """Put back what earlier requests took away; on a new hub where they took too much."""
        if self._is_as_seeded:
            return
        self._is_as_seeded = True
        try:
            self._loop.run_until_complete(self._hub.seed())
        except AssertionError:
            self._renew()
            self._loop.run_until_complete(self._hub.seed())

    def close(self) -> None:
        """The hub ends."""
        while self._open:
            self._loop.run_until_complete(self._open.pop().__aexit__(None, None, None))

    def _renew(self) -> None:
        self.close()
        folder = self._folder / str(len(list(self._folder.iterdir())))
        folder.mkdir()
        self._open.append(seeded(folder))
        self._hub = self._loop.run_until_complete(self._open[-1].__aenter__())

    def ask(self, case: schemathesis.Case[Any]) -> requests.Response:
        """What the hub answers."""
        if "uid" in case.path_parameters:
            case.path_parameters["uid"] = self._uid(case.path_parameters["uid"])
        scheme = "".join(case.operation.definition.raw["x-caller"])
        given = case.as_transport_kwargs(base_url="http://hub")
        for mark in "?#":  # part of a drawn name: what is asked for stands in `params`
            given["url"] = given["url"].replace(mark, f"%{ord(mark):X}")
        sent = requests.Request(**given).prepare()
        self._is_as_seeded &= sent.method in SAFE
        headers = [
            (_bytes(name), _bytes(value))
            for name, value in sent.headers.items()
            if name.lower() != "authorization"
        ]
        client = self._hub.http[scheme]
        content: Any = sent.body
        asked = client.build_request(
            str(sent.method), str(sent.url), headers=headers, content=content
        )
        reply = self._loop.run_until_complete(client.send(asked))
        return _as_requests(sent, reply)

    def _uid(self, given: str) -> str:
        number = str(given).removeprefix("SEEDED-")
        return self._hub.uids[int(number)] if number in "01234567" else given


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _as_requests(sent: requests.PreparedRequest, reply: httpx.Response) -> requests.Response:
    headers: Any = reply.headers.multi_items()  # a Set-Cookie may be there twice
    raw = HTTPResponse(
        io.BytesIO(reply.content), headers=headers, status=reply.status_code,
        preload_content=False,
    )  # fmt: skip
    return requests.adapters.HTTPAdapter().build_response(sent, raw)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """One hub for all operations: each must leave it well."""
    asking = Asking(tmp_path_factory.mktemp("hubs"))
    yield asking
    asking.close()


@pytest.fixture
def asking(hub: Asking) -> Asking:
    """The hub with everything in place again."""
    hub.seed()
    return hub


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not EXPLORES,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@pytest.mark.timeout(900)
def test_an_operation_is_as_described(asking, case):
    """Errors, statuses, headers, answers, refusals: of every operation."""
    left_out = EXCEPTIONS.get(case.operation.path, [])
    case.validate_response(asking.ask(case), checks=[c for c in CHECKS if c not in left_out])

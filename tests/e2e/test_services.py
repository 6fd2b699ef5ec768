"""A LeaderWorkerSet by the command line, told from outside: it runs, grows, shrinks and is cancelled."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import an_lws

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/team-a/leaderworkersets/llm"
OF_NAMESPACE = ("/api/v1/namespaces/team-a/pods", "/apis/apps/v1/namespaces/team-a/statefulsets")
NAME = "team-a/llm"


class Service:
    """A fleet of one member, and what a person types about one service."""

    def __init__(self, fleet: RunningFleet) -> None:
        self.fleet = fleet

    def typed(self, *arguments: str, documents: Any = None) -> str:
        """Run a command, which must succeed, and return its output. `documents`: its input."""
        text = "\n---\n".join(json.dumps(each) for each in documents or ())
        done = self.fleet.cli(*arguments, stdin=text)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def apply(self, *documents: Any) -> None:
        self.typed("apply", "-f", "-", documents=documents)

    def quota(self, cpu: str) -> None:
        self.apply(*a_queue("q", quota={"cpu": cpu}))

    def job(self, name: str = NAME) -> dict[str, Any]:
        """A job as `jobs show` has it."""
        found: dict[str, Any] = json.loads(self.typed("jobs", "show", name, "-o", "json"))
        return found

    def replicas(self) -> int | None:
        """Replicas of the object in the member; None if it is absent."""
        spec = self.fleet.read(LWS, cluster="m1").get("spec")
        return None if spec is None else spec["replicas"]

    def left(self) -> list[str]:
        """Names of the pods and StatefulSets of the service in the member."""
        lists = (self.fleet.read(path, cluster="m1")["items"] for path in OF_NAMESPACE)
        names = (each["metadata"]["name"] for found in lists for each in found)
        return sorted(name for name in names if name.startswith("llm"))

    def becomes(self, state: str, reason: str = "", ready: int | None = None) -> None:
        def is_so() -> bool:
            told = self.job()
            pods = ready is None or (told.get("counts") or {}).get("ready") == ready
            return (told["state"], told["reason"], pods) == (state, reason, True)

        until(is_so, 40, f"{state} {reason}, {ready} pods ready")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Two groups of 5 cpu each serve, and have all quota."""
    folder: Path = tmp_path_factory.mktemp("services")
    with running_fleet(folder, equal_members(1, nodes=2), packed=True) as fleet:
        made = Service(fleet)
        made.quota("10")
        made.typed("submit", "-", documents=[an_lws()])
        yield made


def test_a_service_runs_grows_shrinks_and_is_cancelled(service: Service) -> None:
    """More groups wait for quota while the others serve, fewer give it back, and nothing is left."""
    service.becomes("Running", ready=6)
    assert service.replicas() == 2

    service.apply(an_lws(replicas=3))
    service.becomes("Running", "WaitingToGrow", ready=6)
    assert service.replicas() == 2
    service.quota("15")
    service.becomes("Running", ready=9)
    assert service.replicas() == 3

    behind = a_job("behind", run_s=0.2, cpu="10")
    behind["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    service.typed("submit", "-", documents=[behind])
    assert service.job("team-a/behind")["state"] == "Pending"
    service.apply(an_lws(replicas=1))
    service.becomes("Running", ready=3)
    one_group = ["llm", "llm-0", "llm-0", "llm-0-1", "llm-0-2"]
    until(lambda: service.left() == one_group, 20, "pods of the other groups are gone")
    service.typed("jobs", "wait", "team-a/behind", "--timeout", "90s")
    assert service.replicas() == 1

    service.typed("jobs", "cancel", NAME)
    service.typed("jobs", "wait", NAME, "--for", "ended", "--timeout", "90s")
    assert service.job()["state"] == "Cancelled"
    until(lambda: service.replicas() is None, 20, "the LeaderWorkerSet is gone")
    assert service.left() == []

"""Where each page of the documentation leaves a fleet: what its reader has at the end.

Asked of the hub's REST surface and of the members' API servers, so that no page vouches for itself.
Every page leaves the fleet `tidy`: whoever reads on finds nothing that waits, fails or drifts.
"""

import urllib.error
from collections.abc import Callable
from typing import Any, Self

import httpx

from tests.e2e.recorder import ApiServer
from tests.e2e.running import RunningFleet, until

Json = dict[str, Any]
MEMBERS = ("cpu-1", "gpu-1", "memory-1")
_WITHIN_S = 120
_ENDED = {"Succeeded", "Cancelled"}  # no page lets a job fail


class Reader:
    """Somebody who has followed a page, and now looks."""

    def __init__(self, fleet: RunningFleet) -> None:
        """Sign in as the fleet's administrator."""
        self._fleet = fleet
        token = (fleet.folder / "admin.token").read_text().strip()
        self._http = httpx.Client(
            base_url=fleet.server, headers={"Authorization": f"Bearer {token}"}, timeout=30
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def ask(self, path: str) -> Json:
        """An answer of the hub; {} where there is no such thing."""
        reply = self._http.get(f"/v1/{path}")
        if reply.status_code == 404:
            return {}
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def items(self, path: str) -> list[Json]:
        """What a list of the hub holds; none of these is long."""
        return list(self.ask(f"{path}{'&' if '?' in path else '?'}limit=500")["items"])

    def member(self, name: str, path: str) -> Json:
        """An object in a member, {} where it is not."""
        try:
            return ApiServer(self._fleet.kubeconfig(name)).get(path)
        except urllib.error.HTTPError as absent:
            with absent:
                if absent.code != 404:
                    raise
            return {}

    def value(self, member: str, namespace: str, name: str, key: str) -> str | None:
        """One value of a ConfigMap in a member."""
        found = self.member(member, f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        value: str | None = found.get("data", {}).get(key)
        return value

    def job(self, name: str) -> Json:
        """`namespace/name`."""
        namespace, _, alone = name.partition("/")
        return self.ask(f"namespaces/{namespace}/jobs/{alone}")

    def succeeded(self, *names: str) -> None:
        """Each of these jobs has, or will soon."""
        for name in names:
            self._is(name, "Succeeded")

    def cancelled(self, name: str) -> None:
        """This job was stopped and has ended."""
        self._is(name, "Cancelled")

    def is_active(self, queue: str) -> None:
        """This ClusterQueue admits."""
        kind = "objects/kueue.x-k8s.io/ClusterQueue"
        conditions = self.ask(f"{kind}/{queue}")["status"]["conditions"]
        assert {c["type"]: c["status"] for c in conditions}["Active"] == "True", conditions

    def tidy(self) -> None:
        """All jobs have ended well, all placements are as declared, nothing is in drift."""
        until(lambda: not self._unended(), _WITHIN_S, "every job has ended")
        assert {job["state"] for job in self.items("jobs")} <= _ENDED
        until(lambda: not self._unplaced(), _WITHIN_S, "every placement is there")
        assert self.items("drift") == []
        assert sorted(each["name"] for each in self.ask("clusters")["items"]) == sorted(MEMBERS)

    def _is(self, name: str, state: str) -> None:
        until(lambda: self.job(name).get("state") == state, _WITHIN_S, f"{name} is {state}")

    def _unended(self) -> list[str]:
        return [job["name"] for job in self.items("jobs") if not job["finishedAt"]]

    def _unplaced(self) -> list[Any]:
        placements = self.ask("placements")["items"]
        return [
            found
            for each in placements
            for found in (
                *(c for c in each["conditions"] if c["status"] != "True" and _tells(each, c)),
                *(s for s in each["placementStatuses"] if s.get("failedPlacements")),
            )
        ]


def _tells(placement: Json, condition: Json) -> bool:
    """Is it one of those that say how far a placement has come?"""
    return str(condition["type"]).startswith(placement["kind"])


def _tour(reader: Reader) -> None:
    reader.succeeded("compute-jobs/mock-workload", "compute-jobs/model-evaluation")
    reader.is_active("cluster-queue")


def _tutorial(reader: Reader) -> None:
    reader.succeeded("default/hello", "team-a/first", "team-a/second", "team-a/by-rest")
    assert {m: reader.value(m, "shop", "settings", "level") for m in MEMBERS} == dict.fromkeys(
        MEMBERS, "info"
    )


def _submit(reader: Reader) -> None:
    reader.succeeded("default/greeting", "nightly/report", "nightly/on-gpu", "nightly/later")
    reader.cancelled("nightly/to-stop")
    assert reader.job("nightly/on-gpu")["cluster"] == "gpu-1"
    assert len(reader.items("jobs?namespace=nightly&name=many-")) == 20


def _run(reader: Reader) -> None:
    reader.succeeded("default/first", "default/printed", "default/sweep", "default/odd")
    assert reader.job("default/first")["cluster"] == "gpu-1"
    assert reader.job("default/odd")["completions"] == 5
    reader.succeeded("default/fetch", "default/learn-all", "default/clean-up")
    reader.succeeded("default/study", "default/study-again")
    reader.succeeded("default/ablation")
    reader.cancelled("default/long")


def _from_slurm(reader: Reader) -> None:
    reader.succeeded("default/prepare", "default/learn")


def _from_kueuectl(reader: Reader) -> None:
    assert (
        reader.ask("objects/kueue.x-k8s.io/ClusterQueue/from-kueuectl")["origin"] == "hub-cluster"
    )


def _queues(reader: Reader) -> None:
    reader.succeeded("team-t/train")
    assert reader.job("team-t/train")["cluster"] == "gpu-1"
    reader.is_active("training")


def _checks(reader: Reader) -> None:
    reader.succeeded("team-p/report")
    assert reader.items("checks") == []
    job = reader.job("team-p/report")
    copy = reader.member(job["cluster"], "/apis/batch/v1/namespaces/team-p/jobs/report")
    assert copy["spec"]["template"]["metadata"]["labels"]["cost-centre"] == "team-p"


def _bare(reader: Reader) -> None:
    assert not reader.ask("workloads/team-b/notebook")
    assert not reader.ask("workloads/team-b/build")
    reader.is_active("desk")


def _multikueue(reader: Reader) -> None:
    jobs = ("default/sample-job-1", "default/sample-job-2")
    reader.succeeded(*jobs)
    assert {reader.job(name)["cluster"] for name in jobs} <= {"cpu-1", "memory-1"}
    reader.is_active("manager-queue")


def _views(reader: Reader) -> None:
    reader.succeeded("reports/weekly")
    (workload,) = reader.items("workloads?namespace=reports")
    conditions = {c["type"]: c["status"] for c in workload["status"]["conditions"]}
    assert conditions["Finished"] == "True"


def _placements(reader: Reader) -> None:
    _tour(reader)
    assert {m: reader.value(m, "web", "settings", "level") for m in MEMBERS} == dict.fromkeys(
        MEMBERS, "info"
    )
    sizes = {m: reader.value(m, "models", "cache", "size") for m in MEMBERS}
    (chosen,) = [member for member, size in sizes.items() if size]
    assert reader.ask(f"clusters/{chosen}")["labels"]["region"] in {"south", "west"}


def _drift(reader: Reader) -> None:
    found = {
        member: tuple(reader.value(member, "drifting", "settings", k) for k in ("level", "region"))
        for member in MEMBERS
    }
    north = dict.fromkeys(MEMBERS, ("info", "north"))
    assert found == {**north, "cpu-1": ("info", "east")}


def _new_kind(reader: Reader) -> None:
    assert not reader.ask("objects/run.ai/Karta/swarm")
    assert reader.ask("kinds")["items"][-1]["current"] is False
    assert not reader.ask("namespaces/default/jobs/bees").get("active")


def _security(reader: Reader) -> None:
    reader.cancelled("infra/hello")
    assert reader.items("jobs?namespace=hardened") == []
    for member in MEMBERS:
        assert not reader.member(member, "/apis/batch/v1/namespaces/infra/jobs/hello")


def _people(reader: Reader) -> None:
    assert "iris" not in {token["name"] for token in reader.ask("tokens")["items"]}
    (binding,) = reader.ask("access/bindings")["items"]
    assert (binding["name"], binding["namespaces"]) == ("physics", ["team-a", "team-b"])


def _operate(reader: Reader) -> None:
    assert "ana" not in {token["name"] for token in reader.ask("tokens")["items"]}


def _client(reader: Reader) -> None:
    reader.tidy()
    jobs = reader.items("jobs?namespace=notebooks")
    assert [job["state"] for job in jobs] == ["Succeeded"] * 51


ENDS: dict[str, Callable[[Reader], None]] = {
    "README.md": _tour,
    "docs/tutorial/first-fleet.md": _tutorial,
    "docs/howto/run.md": _run,
    "docs/howto/from-slurm.md": _from_slurm,
    "docs/howto/from-kueuectl.md": _from_kueuectl,
    "docs/howto/submit.md": _submit,
    "docs/howto/queues.md": _queues,
    "docs/howto/admission-checks.md": _checks,
    "docs/howto/bare-workloads.md": _bare,
    "docs/howto/multikueue.md": _multikueue,
    "docs/howto/kueue-views.md": _views,
    "docs/howto/placements.md": _placements,
    "docs/howto/why-it-waits.md": lambda reader: reader.cancelled("patience/wide"),
    "docs/howto/drift.md": _drift,
    "docs/howto/new-kind.md": _new_kind,
    "docs/howto/pod-security.md": _security,
    "docs/howto/clusters.md": Reader.tidy,  # the member that joined has left again
    "docs/howto/people.md": _people,
    "docs/howto/operate.md": _operate,
    "docs/howto/python-client.md": _client,
}

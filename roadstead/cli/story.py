"""The demo's actions on its fleet, and their output.

It acts as a user would: it applies the manifests through the Kubernetes API of the hub cluster; they wait
in their queues, are placed, run on simulated members, and are shown as it happens.
"""

import asyncio
import datetime as dt
import shutil
import sysconfig
from pathlib import Path

import yaml

from roadstead.cli.fleet import Fleet
from roadstead.cli.tables import Column, table, wrapped
from roadstead.cli.visible import say
from roadstead.errors import RoadsteadError
from roadstead.models.explanation import Explanation
from roadstead.models.jobs import Job, JobState
from roadstead.models.record import Json
from shared.kube.client import KubeClient

_GUIDE_FILES = "guide/guide-*.yaml"
# (namespace, name) of every job that is applied; the story ends when all of them have.
EXPECTED = {
    ("compute-jobs", "mock-workload"),
    ("compute-jobs", "model-evaluation"),
    ("team-research", "train-llm"),
    ("newsletter", "gpu-intensive-job"),
}
_GIVE_UP_AFTER_S = 120.0
_LOOK_EVERY_S = 0.25


class ExamplesMissing(RoadsteadError):
    """The installation has no example manifests."""


def examples() -> Path:
    """The folder of example manifests: of the installed package, else of the checkout."""
    packaged = Path(__file__).parent.parent / "examples"
    found = packaged if packaged.is_dir() else Path(__file__).parents[2] / "examples"
    if not list(found.glob(_GUIDE_FILES)):
        raise ExamplesMissing(f"the example manifests are not in {found}")
    return found


class Story:
    """Runs the guide, the gang and the GPU job; then prints a summary."""

    def __init__(self, fleet: Fleet, *, stay: bool) -> None:
        self._fleet = fleet
        self._stay = stay
        self._examples = examples()
        self._clock = fleet.clock
        self._began = self._clock.monotonic()
        self._shown: dict[str, tuple[str, str, str]] = {}
        self._lines: dict[str, str] = {}

    async def run(self, stop: asyncio.Event) -> int:
        """0 if every job succeeded, else 1. Waits for `stop` before it returns if the fleet stays up."""
        self._say(
            f"starting hub, hub cluster, {len(self._fleet.members)} members and their agents"
        )
        await self._fleet.start()
        self._say(f"ready: {self._fleet.server}")
        await self._apply_all()
        jobs = await self._until_ended()
        self._summary(jobs)
        if self._stay:
            say("\nThe fleet stays up until Ctrl-C.")
            await stop.wait()
        return 0 if all_succeeded(jobs) else 1

    async def _apply_all(self) -> None:
        async with await KubeClient.connect(self._fleet.hub_kubeconfig) as kube:
            for path in sorted(self._examples.glob(_GUIDE_FILES)):
                await self._apply(kube, path)
            for namespace in ("team-research", "newsletter"):
                await kube.apply(_namespace(namespace), field_manager="demo", force=True)
            self._say("created namespaces team-research and newsletter")
            await self._apply(kube, self._examples / "research-team.yaml")
            await self._apply(kube, self._examples / "gpu-intensive.yaml", "newsletter")

    async def _apply(self, kube: KubeClient, path: Path, namespace: str | None = None) -> None:
        text = await asyncio.to_thread(path.read_text)
        for manifest in yaml.safe_load_all(text):
            if namespace:
                manifest["metadata"].setdefault("namespace", namespace)
            await kube.apply(manifest, field_manager="demo", force=True)
        self._say(f"applied {path.name} to the hub cluster")

    async def _until_ended(self) -> list[Job]:
        deadline = self._clock.monotonic() + _GIVE_UP_AFTER_S
        while True:
            jobs = await asyncio.to_thread(self._jobs)
            for job in jobs:
                await self._show(job)
            names = {(j.namespace, j.name) for j in jobs if j.finished_at}
            if names >= EXPECTED:
                return jobs
            if self._clock.monotonic() > deadline:
                self._say(f"not all jobs have ended after {_GIVE_UP_AFTER_S:.0f} s")
                return jobs
            await self._clock.sleep(_LOOK_EVERY_S)

    def _jobs(self) -> list[Job]:
        with self._fleet.client() as hub:
            return sorted(hub.jobs(), key=lambda j: (j.created_at, j.name))

    async def _show(self, job: Job) -> None:
        now = (job.state, job.reason, job.cluster)
        if self._shown.get(job.uid) == now:
            return
        told = await asyncio.to_thread(self._explained, job.uid)
        if not agree(job, told):
            return  # its state changed between the two reads: the next look shows it
        self._shown[job.uid] = now
        line = f"{job.full_name}: {words(job, told)}"
        if self._lines.get(job.uid) != line:
            self._lines[job.uid] = line
            self._say(line)

    def _explained(self, uid: str) -> Explanation:
        with self._fleet.client() as hub:
            return hub.explain(uid)

    def _summary(self, jobs: list[Job]) -> None:
        columns = [
            Column("JOB", lambda j: j.full_name, shrinks=True),
            Column("QUEUE", lambda j: j.queue),
            Column("STATE", lambda j: j.state, coloured=True),
            Column("CLUSTER", lambda j: j.cluster),
            Column("WAITED", lambda j: _seconds(j.created_at, j.started_at)),
            Column("RAN", lambda j: _seconds(j.started_at, j.finished_at)),
        ]
        fleet = self._fleet
        say("\n" + table(jobs, columns))
        if self._stay:
            say(
                f"\nLive page        {fleet.server}/\n"
                f"  its token      {fleet.folder / 'admin.token'}\n"
                f"API description  {fleet.server}/openapi.json\n"
                f"Hub cluster      {fleet.hub_kubeconfig}"
            )
            say("\nNext, in another terminal:")
            say(next_steps(fleet.folder, fleet.hub_kubeconfig))

    def _say(self, text: str) -> None:
        begin = f"{self._clock.monotonic() - self._began:5.1f}s  "
        first, *more = wrapped(text, " " * len(begin))
        say("\n".join([begin + first[len(begin) :], *more]))


def next_steps(folder: Path, kubeconfig: Path) -> str:
    """Commands to try beside the fleet, in a shell with the PATH of this process."""
    begin = f"  export ROADSTEAD_DATA={folder} KUBECONFIG={kubeconfig}\n"
    if shutil.which("roadstead") is None:
        begin += f"  export PATH={sysconfig.get_path('scripts')}:$PATH\n"
    return (
        f"{begin}"
        "  roadstead explain team-research/train-llm\n"
        "  roadstead clusters ls\n"
        "  kubectl describe resourceplacement job1-placement -n compute-jobs"
    )


def agree(job: Job, told: Explanation) -> bool:
    """True if a list's row and an explanation, read one after the other, show the same state of the job."""
    return (job.state, job.cluster) == (told.state, told.cluster)


def words(job: Job, told: Explanation) -> str:
    """A job's state, cluster and reason: the rule that holds it, or the scores that placed it.

    Reason and message are of one reading: the explanation, or for an ended job its row.
    """
    where = f" on {job.cluster}" if job.cluster else ""
    reason = job.reason if job.finished_at else told.reason
    why = f" {reason}" if reason else ""
    if job.finished_at:
        return f"{job.state}{where}{why}"
    decided = (told.decision or {}).get("clusters") or []
    fit = [c for c in decided if c["score"] is not None and not c.get("rule")]
    if job.cluster and len(fit) == 1 < len(decided):
        return f"{job.state}{where}{why} (it fits nowhere else)"
    if job.cluster and fit:
        scores = ", ".join(f"{c['cluster']} {c['score']}" for c in fit)
        return f"{job.state}{where}{why} (scores: {scores})"
    message = f": {told.message}" if told.message and not job.cluster else ""
    return f"{job.state}{where}{why}{message}"


def all_succeeded(jobs: list[Job]) -> bool:
    """Whether every job of the story is there and has succeeded."""
    ended = {(j.namespace, j.name): j.state for j in jobs}
    return all(ended.get(name) == JobState.SUCCEEDED for name in EXPECTED)


def _seconds(begin: dt.datetime | None, end: dt.datetime | None) -> str:
    if not begin or not end:
        return ""
    return f"{(end - begin).total_seconds():.1f}s"


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

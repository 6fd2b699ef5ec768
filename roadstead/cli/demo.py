"""`roadstead demo`: a fleet on this machine runs the guide's jobs, a gang of 16 GPUs and a GPU job.

Everything goes the way a user's would: the manifests are applied through the Kubernetes API of the
hub cluster, wait in their queues, are placed, run on simulated members, and are shown live.
"""

import asyncio
import datetime as dt
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import click

from roadstead.cli.members import read_members
from roadstead.cli.up import listen_address

_GUIDE_FILES = "guide/guide-*.yaml"
EXPECTED = {
    ("compute-jobs", "mock-workload"),
    ("compute-jobs", "model-evaluation"),
    ("team-research", "train-llm"),
    ("newsletter", "gpu-intensive-job"),
}
_GIVE_UP_AFTER_S = 120.0
Json = dict[str, Any]


@click.command()
@click.option("--exit", "exit_", is_flag=True, help="End when all jobs have ended.")
@click.option("--listen", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT")
@click.option("--members", default="3", show_default=True, metavar="N|FILE")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the data in this folder [a temporary one, removed at the end].",
)
def demo(exit_: bool, listen: str, members: str, data: Path | None) -> int:
    """Start hub, hub cluster, three unlike members and agents; run the guide on them.

    Stays up until Ctrl-C; with --exit it ends by itself, with 0 if every job succeeded.
    """
    from roadstead.cli.fleet import Fleet

    folder = data or Path(tempfile.mkdtemp(prefix="roadstead-demo-"))
    try:
        fleet = Fleet(folder, listen_address(listen), read_members(members))
        return asyncio.run(_Demo(fleet, stay=not exit_).run())
    finally:
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)


def examples() -> Path:
    """The folder of example manifests: of the installed package, else of the checkout."""
    packaged = Path(__file__).parent.parent / "examples"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "examples"


class _Demo:
    def __init__(self, fleet: Any, *, stay: bool) -> None:
        self._fleet = fleet
        self._stay = stay
        self._clock = fleet.clock
        self._began = self._clock.monotonic()
        self._shown: dict[str, tuple[str, str, str]] = {}

    async def run(self) -> int:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        story = asyncio.create_task(self._story())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({story, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not story.done():
                return 130
            jobs = story.result()
            self._summary(jobs)
            if self._stay:
                click.echo("\nThe fleet stays up. Ctrl-C ends it.")
                await stopping
            return 0 if _all_succeeded(jobs) else 1
        finally:
            story.cancel()
            stopping.cancel()
            await self._fleet.stop()

    async def _story(self) -> list[Json]:
        self._say(f"starting hub, hub cluster, {len(self._fleet.members)} members and agents …")
        await self._fleet.start()
        self._say(f"ready: {self._fleet.server}")
        await self._apply_all()
        return await self._until_ended()

    async def _apply_all(self) -> None:
        from shared.kube.client import KubeClient

        async with await KubeClient.connect(self._fleet.hub_kubeconfig) as kube:
            for path in sorted(examples().glob(_GUIDE_FILES)):
                await self._apply(kube, path)
            for namespace in ("team-research", "newsletter"):
                await kube.apply(_namespace(namespace), field_manager="demo", force=True)
            self._say("created namespaces team-research and newsletter")
            await self._apply(kube, examples() / "research-team.yaml")
            await self._apply(kube, examples() / "gpu-intensive.yaml", "newsletter")

    async def _apply(self, kube: Any, path: Path, namespace: str | None = None) -> None:
        import yaml

        text = await asyncio.to_thread(path.read_text)
        for manifest in yaml.safe_load_all(text):
            if namespace:
                manifest["metadata"].setdefault("namespace", namespace)
            await kube.apply(manifest, field_manager="demo", force=True)
        self._say(f"applied {path.name} to the hub cluster")

    async def _until_ended(self) -> list[Json]:
        deadline = self._clock.monotonic() + _GIVE_UP_AFTER_S
        while True:
            jobs = await asyncio.to_thread(self._jobs)
            for job in jobs:
                await self._show(job)
            names = {(j["namespace"], j["name"]) for j in jobs if j["finishedAt"]}
            if names >= EXPECTED or self._clock.monotonic() > deadline:
                return jobs
            await self._clock.sleep(0.25)

    def _jobs(self) -> list[Json]:
        with self._fleet.client() as hub:
            return sorted(hub.jobs(), key=lambda j: (j["createdAt"], j["name"]))

    async def _show(self, job: Json) -> None:
        now = (job["state"], job["reason"], job["cluster"])
        if self._shown.get(job["uid"]) == now:
            return
        self._shown[job["uid"]] = now
        told = await asyncio.to_thread(self._explained, job["uid"])
        self._say(f"{job['namespace']}/{job['name']}: {_words(job, told)}")

    def _explained(self, uid: str) -> Json:
        with self._fleet.client() as hub:
            told: Json = hub.explain(uid)
            return told

    def _summary(self, jobs: list[Json]) -> None:
        from roadstead.cli.output import Column, table

        columns = [
            Column("JOB", lambda j: f"{j['namespace']}/{j['name']}"),
            Column("QUEUE", lambda j: j["queue"]),
            Column("STATE", lambda j: j["state"]),
            Column("CLUSTER", lambda j: j["cluster"]),
            Column("WAITED", lambda j: _seconds(j["createdAt"], j["startedAt"])),
            Column("RAN", lambda j: _seconds(j["startedAt"], j["finishedAt"])),
        ]
        fleet = self._fleet
        click.echo("\n" + table(jobs, columns))
        click.echo(
            f"\nhub and live page   {fleet.server}/\n"
            f"API description     {fleet.server}/openapi.json\n"
            f"hub cluster         {fleet.hub_kubeconfig}\n"
            "\nNext:\n"
            f"  export ROADSTEAD_DATA={fleet.folder}\n"
            "  roadstead explain team-research/train-llm\n"
            f"  kubectl --kubeconfig {fleet.hub_kubeconfig} describe resourceplacement"
            " job1-placement -n compute-jobs\n"
            "  roadstead clusters ls"
        )

    def _say(self, words: str) -> None:
        click.echo(f"{self._clock.monotonic() - self._began:6.1f}s  {words}")


def _words(job: Json, told: Json) -> str:
    where = f" on {job['cluster']}" if job["cluster"] else ""
    why = f" {job['reason']}" if job["reason"] else ""
    message = f" ({told['message']})" if told.get("message") and not job["finishedAt"] else ""
    scores = ""
    if job["state"] in {"Placed", "Offered", "Applied", "Running"}:
        scores = _scores(told)
    return f"{job['state']}{where}{why}{message}{scores}"


def _scores(told: Json) -> str:
    decided = (told.get("decision") or {}).get("clusters") or []
    shown = ", ".join(f"{c['cluster']} {c['score']}" for c in decided if c["score"] is not None)
    return f" [scores: {shown}]" if shown else ""


def _seconds(begin: str | None, end: str | None) -> str:
    if not begin or not end:
        return ""
    span = dt.datetime.fromisoformat(end) - dt.datetime.fromisoformat(begin)
    return f"{span.total_seconds():.1f}s"


def _all_succeeded(jobs: list[Json]) -> bool:
    ended = {(j["namespace"], j["name"]): j["state"] for j in jobs}
    return all(ended.get(name) == "Succeeded" for name in EXPECTED)


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

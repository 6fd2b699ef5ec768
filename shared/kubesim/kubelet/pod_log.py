"""The log of a simulated container: the lines of its annotation, or a few default ones.

Nothing of an image is executed. Lines are spread evenly over the time that the container runs, so
that following a log shows them come. `sim.roadstead.dev/log-lines` is either how many lines to write
or the lines themselves.
"""

import bisect
import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from shared import labels
from shared.clock import Clock
from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.pods import TERMINAL
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.kubelet.kubelets import exit_code, run_seconds
from shared.kubesim.store.objects import ObjectStore

_MOST_LINES = 100_000
_SPREAD_S = 10.0  # over how long a container that runs for ever writes its lines
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Line:
    """One line and when it was written."""

    at: dt.datetime
    text: str


class PodLogs:
    """Reads the logs of a cluster's pods."""

    def __init__(self, store: ObjectStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def read(
        self,
        namespace: str,
        name: str,
        container: str | None = None,
        *,
        tail: int | None = None,
        timestamps: bool = False,
        previous: bool = False,
        since: dt.datetime | None = None,
    ) -> str:
        """All that was written so far. Raises ApiError NotFound or BadRequest, in the server's words."""
        pod = self._pod(namespace, name)
        entry = self._container(pod, container)
        lines = _since(self._written(pod, entry, previous=previous), since)
        if tail is not None:
            lines = lines[len(lines) - min(tail, len(lines)) :]
        return _render(lines, timestamps=timestamps)

    async def follow(
        self,
        namespace: str,
        name: str,
        container: str | None = None,
        *,
        tail: int | None = None,
        timestamps: bool = False,
        since: dt.datetime | None = None,
    ) -> AsyncIterator[str]:
        """What was written so far, then each line as it comes, until the container ends."""
        pod = self._pod(namespace, name)
        uid = pod["metadata"]["uid"]
        shown = 0
        if tail is not None or since is not None:
            lines = self._written(pod, self._container(pod, container), previous=False)
            young = len(_since(lines, since))
            shown = len(lines) - (young if tail is None else min(tail, young))
        plan: list[Line] = []
        made_of: tuple[Any, ...] = ()
        while pod["metadata"]["uid"] == uid:
            entry = self._container(pod, container)
            run = _run_of(pod, entry, previous=False)
            now_of = (
                run["startedAt"],
                run.get("finishedAt"),
                (pod.get("status") or {}).get("phase"),
            )
            if (
                now_of != made_of
            ):  # a hundred that are followed at once must not be made anew each time
                plan, made_of = _planned(pod, entry, run), now_of
            count = bisect.bisect_right(plan, self._until(run), key=lambda line: line.at)
            if count > shown:
                yield _render(plan[shown:count], timestamps=timestamps)
                shown = count
            if (pod.get("status") or {}).get("phase") in TERMINAL:
                return
            await self._clock.sleep(_POLL_S)
            live = self._store.get("pods", namespace, name)
            if live is None:
                return
            pod = live

    # --- inside ------------------------------------------------------------------------------------

    def _pod(self, namespace: str, name: str) -> Object:
        pod = self._store.get("pods", namespace, name)
        if pod is None:
            raise errors.not_found("pods", "", name)
        return pod

    def _container(self, pod: Object, name: str | None) -> dict[str, Any]:
        spec = pod["spec"]
        choices = [*spec["containers"], *(spec.get("initContainers") or ())]
        if name is None:
            if len(spec["containers"]) == 1:
                only: dict[str, Any] = spec["containers"][0]
                return only
            names = " ".join(entry["name"] for entry in spec["containers"])
            raise errors.bad_request(
                f"a container name must be specified for pod {pod['metadata']['name']},"
                f" choose one of: [{names}]"
            )
        for entry in choices:
            if entry["name"] == name:
                found: dict[str, Any] = entry
                return found
        raise errors.bad_request(
            f"container {name} is not valid for pod {pod['metadata']['name']}"
        )

    def _written(self, pod: Object, entry: dict[str, Any], *, previous: bool) -> list[Line]:
        run = _run_of(pod, entry, previous=previous)
        until = self._until(run)
        return [line for line in _planned(pod, entry, run) if line.at <= until]

    def _until(self, run: dict[str, Any]) -> dt.datetime:
        """Up to when a run has written by now."""
        ended = run.get("finishedAt")
        # Stamps keep whole seconds: the last line of a finished run is inside its last second.
        return (
            metadata.parse_stamp(ended) + dt.timedelta(seconds=1) if ended else self._clock.now()
        )


def _run_of(pod: Object, entry: dict[str, Any], *, previous: bool) -> dict[str, Any]:
    """The run whose lines are asked for. Raises ApiError where there is none."""
    status = _status_of(pod, entry["name"])
    name, pod_name = entry["name"], pod["metadata"]["name"]
    state = (status.get("lastState") if previous else status.get("state")) or {}
    run: dict[str, Any] | None = state.get("running") or state.get("terminated")
    if run is None and previous:
        message = f'previous terminated container "{name}" in pod "{pod_name}" not found'
        raise errors.bad_request(message)
    if run is None:
        reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
        message = f'container "{name}" in pod "{pod_name}" is waiting to start: {reason}'
        raise errors.bad_request(message)
    return run


def _planned(pod: Object, entry: dict[str, Any], run: dict[str, Any]) -> list[Line]:
    """Every line that a run writes, now or later."""
    start = metadata.parse_stamp(run["startedAt"])
    return _lines(pod, entry, start, ended=run.get("finishedAt") is not None)


def _status_of(pod: Object, name: str) -> dict[str, Any]:
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for entry in status.get(field) or ():
            if entry["name"] == name:
                found: dict[str, Any] = entry
                return found
    return {}


def _lines(pod: Object, entry: dict[str, Any], start: dt.datetime, *, ended: bool) -> list[Line]:
    """Every line that the container writes in a full run, with its time."""
    texts = _texts(pod, entry, ended=ended)
    run_s = min(run_seconds(pod), _SPREAD_S * 360)
    span_s = _SPREAD_S if run_seconds(pod) == float("inf") else run_s
    step = dt.timedelta(seconds=span_s / max(1, len(texts)))
    return [Line(start + step * number, text) for number, text in enumerate(texts)]


def _texts(pod: Object, entry: dict[str, Any], *, ended: bool) -> list[str]:
    meta = pod["metadata"]
    asked = (meta.get("annotations") or {}).get(labels.SIM_LOG_LINES)
    if asked is not None and asked.strip().isdecimal() and len(asked) < 9:
        count = min(int(asked), _MOST_LINES)
        return [f"{meta['name']}: line {number} of {count}" for number in range(1, count + 1)]
    if asked is not None:
        return str(asked).rstrip("\n").split("\n")[:_MOST_LINES]
    node = pod["spec"].get("nodeName", "")
    steps = 3
    texts = [f"{meta['name']}: {entry['name']} started on {node} with {entry.get('image', '')}"]
    texts += [f"{meta['name']}: step {number} of {steps} done" for number in range(1, steps + 1)]
    if ended and (pod.get("status") or {}).get("phase") in TERMINAL:
        texts.append(f"{meta['name']}: ended with exit code {exit_code(pod)}")
    return texts


def _since(lines: list[Line], since: dt.datetime | None) -> list[Line]:
    return lines if since is None else [line for line in lines if line.at >= since]


def _render(lines: list[Line], *, timestamps: bool) -> str:
    if timestamps:
        return "".join(f"{metadata.micro_stamp(line.at)} {line.text}\n" for line in lines)
    return "".join(f"{line.text}\n" for line in lines)

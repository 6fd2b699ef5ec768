"""The subresources of pods that do something: log, binding, eviction."""

import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.kubelet.pod_log import PodLogs
from shared.kubesim.requests.call import Call, Reply, json_reply
from shared.kubesim.store.objects import ObjectStore

Send = Callable[[dict[str, Any]], Awaitable[None]]
_TEXT = [(b"content-type", b"text/plain"), (b"cache-control", b"no-cache, private")]


class PodEndpoints:
    """Answers what is below `/pods/NAME/`."""

    def __init__(self, store: ObjectStore, logs: PodLogs) -> None:
        self._store = store
        self._logs = logs

    async def log(self, call: Call, send: Send) -> None:
        """Send a container's log, whole or as it is written. ApiError before the first byte."""
        container, tail = call.arg("container") or None, call.number("tailLines")
        timestamps, since = call.flag("timestamps"), self._since(call)
        text = self._logs.read(
            call.namespace,
            call.name,
            container,
            tail=tail,
            timestamps=timestamps,
            previous=call.flag("previous"),
            since=since,
        )
        await send({"type": "http.response.start", "status": 200, "headers": _TEXT})
        if not call.flag("follow"):
            limit = call.number("limitBytes")
            body = text.encode()
            await send({"type": "http.response.body", "body": body[:limit] if limit else body})
            return
        lines = self._logs.follow(
            call.namespace, call.name, container, tail=tail, timestamps=timestamps, since=since
        )
        async for line in lines:
            await send({"type": "http.response.body", "body": line.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _since(self, call: Call) -> dt.datetime | None:
        """The instant from which on lines are asked for. Raises ApiError as an API server does."""
        seconds, text = call.number("sinceSeconds"), call.arg("sinceTime")
        if seconds is not None and text:
            raise _invalid_options("at most one of `sinceTime` or `sinceSeconds` may be specified")
        if seconds is not None:
            if seconds < 1:
                raise _invalid_options("sinceSeconds: must be greater than 0")
            return self._store.clock.now() - dt.timedelta(seconds=seconds)
        if not text:
            return None
        try:
            return metadata.parse_stamp(text)
        except ValueError:
            raise errors.bad_request(f"sinceTime: {text} is no instant of RFC 3339") from None

    async def bind(self, call: Call) -> Reply:
        """Put a pod on a node, as a scheduler does."""
        _posted(call)
        binding = call.json()
        node = (binding.get("target") or {}).get("name") if isinstance(binding, dict) else None
        if not node:
            cause = errors.required("target.name")
            raise errors.invalid("Binding", "", call.name, [cause])
        pod = self._store.get("pods", call.namespace, call.name)
        if pod is None:
            raise errors.not_found("pods", "", call.name)
        assigned = pod["spec"].get("nodeName")
        if assigned:
            why = f'pod {call.name} is already assigned to node "{assigned}"'
            raise errors.conflict("pods/binding", "", call.name, why)
        now = metadata.stamp(self._store.clock.now())
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        status = pod.get("status") or {}
        others = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
        bound = {
            **pod,
            "spec": {**pod["spec"], "nodeName": node},
            "status": {**status, "conditions": [*others, scheduled]},
        }
        if not call.dry_run:
            self._store.update("pods", bound, subresource="*")
        return _success(201)

    async def evict(self, call: Call) -> Reply:
        """Delete a pod as `kubectl drain` asks for it. Disruption budgets do not hold it here."""
        _posted(call)
        body = call.json()
        options = (body.get("deleteOptions") or {}) if isinstance(body, dict) else {}
        preconditions = options.get("preconditions") or {}
        self._store.delete(
            "pods",
            call.namespace,
            call.name,
            uid=preconditions.get("uid"),
            grace=options.get("gracePeriodSeconds"),
            dry_run=call.dry_run or "All" in (options.get("dryRun") or ()),
        )
        return _success(201)


def _invalid_options(text: str) -> errors.ApiError:
    return errors.bad_request(f"PodLogOptions is invalid: {text}")


def _posted(call: Call) -> None:
    if call.method != "POST":
        raise errors.method_not_allowed()


def _success(status: int) -> Reply:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return json_reply(body, status)

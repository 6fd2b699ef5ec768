"""`/actions/…`: the actions offered to a user, and the dialog of each with its preview.

Nothing is changed here. A dialog holds one call of the REST API, which the page's script sends when its
button is pressed; the API judges it as it judges everybody, whatever was shown.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hub.api.inside import tell_inside
from hub.api.limits import spend
from hub.api.policy import PUBLIC, allow
from hub.api.routing import new_router
from hub.domain.access import Noun, Verb
from hub.services.context.hub import Hub
from hub.services.explain.if_gone import if_gone
from hub.services.jobs import hold
from hub.services.objects.drain import MOST_SHOWN, drain_cluster
from hub.services.questions import clusters, queues, visibility
from hub.services.questions.pages import previews
from hub.services.questions.pages.places import MOST_IN_LINE
from hub.store.records.lists import JobOnPage
from hub.web.access import MARK, actor, mark_of
from hub.web.actions import of_fleet, of_jobs
from hub.web.actions.preview import MOST_LISTED, Act, Preview, ShownItem
from hub.web.actions.reading import (
    Looker,
    free_copy,
    looker,
    planned,
    planned_copy,
    printed,
    read_job,
)
from hub.web.shell import html
from hub.web.words import path_of
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.resubmitted import is_hidden

router = new_router("page")
Shown = Awaitable[Preview]


@router.get("/actions/jobs/{uid}", include_in_schema=False)
@allow(PUBLIC)
async def offer_of_job(request: Request, uid: str) -> Response:
    """Buttons for what may be done to a job."""
    by = await _looker(request)
    return _buttons(of_jobs.offered(by.rights, await read_job(by, uid)))


@router.get("/actions/clusters/{name}", include_in_schema=False)
@allow(PUBLIC)
async def offer_of_cluster(request: Request, name: str) -> Response:
    """Buttons for what may be done to a member."""
    by = await _looker(request)
    _require_clusters(by, Verb.GET)
    found = await by.hub.read(clusters.get_cluster, name, by.hub.settings)
    return _buttons(of_fleet.offered_of_cluster(by.rights, found))


@router.get("/actions/queues/{name}", include_in_schema=False)
@allow(PUBLIC)
async def offer_of_cluster_queue(request: Request, name: str) -> Response:
    """Buttons for what may be done to a ClusterQueue."""
    return await _offer_of_queue(request, "", name)


@router.get("/actions/localqueues/{namespace}/{name}", include_in_schema=False)
@allow(PUBLIC)
async def offer_of_local_queue(request: Request, namespace: str, name: str) -> Response:
    """Buttons for what may be done to a LocalQueue."""
    return await _offer_of_queue(request, namespace, name)


@router.get("/actions/jobs/{uid}/{verb}", include_in_schema=False)
@allow(PUBLIC)
async def preview_of_job(request: Request, uid: str, verb: str) -> Response:
    """The effect on the job, with the call that executes it."""
    shown = _JOB.get(verb)
    if shown is None:
        raise _nothing()
    by = await _looker(request)
    job = await read_job(by, uid, of_jobs.MAY[verb][0] if verb != "resubmit" else Verb.GET)
    if verb not in {act.verb for act in of_jobs.offered(by.rights, job)}:
        return _dialog(request, _not_now(verb, job))
    return _dialog(request, await shown(request, by, job))


@router.get("/actions/clusters/{name}/{verb}", include_in_schema=False)
@allow(PUBLIC)
async def preview_of_cluster(request: Request, name: str, verb: str) -> Response:
    """The effect on the member, with the call that executes it."""
    by = await _looker(request)
    if verb not in {"cordon", "uncordon", "drain"}:
        raise _nothing()
    _require_clusters(by, Verb.CHANGE)
    hub = by.hub
    found = await hub.read(clusters.get_cluster, name, hub.settings)
    if verb == "uncordon":
        return _dialog(request, of_fleet.uncordon(found))
    listed = (await hub.read(clusters.list_clusters, hub.settings))["items"]
    others = [each["name"] for each in listed if each["state"] == "Ready" and each["name"] != name]
    if verb == "cordon":
        return _dialog(request, of_fleet.cordon(found, others))
    would = await hub.read(drain_cluster, name, by.who.name, carry_out=False)
    await tell_inside(request, by.who.id, would["members"])
    there = await hub.read(previews.on_cluster, name, MOST_SHOWN)
    pages = {f"{row.namespace}/{row.name}": path_of("jobs", row.uid) for row in there}
    return _dialog(request, of_fleet.drain(found, would, others, pages))


@router.get("/actions/queues/{name}/{verb}", include_in_schema=False)
@allow(PUBLIC)
async def preview_of_cluster_queue(request: Request, name: str, verb: str) -> Response:
    """The effect on a ClusterQueue."""
    return await _preview_of_queue(request, "", name, verb)


@router.get("/actions/localqueues/{namespace}/{name}/{verb}", include_in_schema=False)
@allow(PUBLIC)
async def preview_of_local_queue(
    request: Request, namespace: str, name: str, verb: str
) -> Response:
    """The effect on a LocalQueue."""
    return await _preview_of_queue(request, namespace, name, verb)


async def _offer_of_queue(request: Request, namespace: str, name: str) -> Response:
    by = await _looker(request)
    await _read_queue(by, namespace, name)
    policy = await by.hub.read(previews.stop_policy, namespace, name)
    return _buttons(of_fleet.offered_of_queue(by.rights, namespace, name, policy))


async def _preview_of_queue(request: Request, namespace: str, name: str, verb: str) -> Response:
    by = await _looker(request)
    if verb not in {"stop", "resume"}:
        raise _nothing()
    found = await _read_queue(by, namespace, name)
    if not of_fleet.may_stop(by.rights, namespace):
        said = "none of your roles allows you to change this queue"
        raise Rejected(RejectCode.FORBIDDEN, said)
    policy = await by.hub.read(previews.stop_policy, namespace, name)
    if verb == "stop":
        wanted = "drain" in request.query_params
        running = await by.hub.read(previews.admitted, namespace, name, MOST_LISTED)
        items = [_item(row) for row in running] if wanted else []
        return _dialog(request, of_fleet.stop(found, items, drain=wanted, policy=policy))
    return _dialog(request, of_fleet.resume(found, await _first(by, namespace, name), policy))


async def _read_queue(by: Looker, namespace: str, name: str) -> Json:
    """The queue, as far as they see it. Raises Rejected: NotFound."""
    hub = by.within(Verb.GET, Noun.QUEUES)
    if namespace:
        return await hub.read(queues.get_local_queue, namespace, name)
    return await hub.read(queues.get_cluster_queue, name)


async def _first(by: Looker, namespace: str, name: str) -> list[ShownItem]:
    """The first waiting jobs."""
    index = by.find_index()
    if namespace:
        leads_to = visibility.queue_of(index, (namespace, name))
        line = visibility.line_view(index, leads_to, MOST_IN_LINE)
        told = await by.hub.read(
            visibility.in_local_queue, line, (namespace, name), 0, MOST_LISTED
        )
    else:
        line = visibility.line_view(index, name, MOST_LISTED)
        told = await by.hub.read(visibility.in_cluster_queue, line, name, 0, MOST_LISTED)
    return [_waiting(each) for each in told["items"]]


def _waiting(each: Json) -> ShownItem:
    metadata = each["metadata"]
    owner = next(iter(metadata.get("ownerReferences", ())), None)
    name = metadata["name"] if owner is None else owner["name"]
    href = "" if owner is None else f"/jobs/{owner['uid']}"
    return ShownItem(f"{metadata['namespace']}/{name}", href, f"priority {each['priority']}")


def _item(row: JobOnPage) -> ShownItem:
    where = f"{row.state} on {row.cluster}" if row.cluster else str(row.state)
    return ShownItem(f"{row.namespace}/{row.name}", f"/jobs/{row.uid}", where)


# --- jobs -----------------------------------------------------------------------------------------


async def _cancel(request: Request, by: Looker, job: Json) -> Preview:
    return of_jobs.cancel(job, await if_gone(_seeing(by), job["uid"], by.find_index))


async def _delete(request: Request, by: Looker, job: Json) -> Preview:
    return of_jobs.delete(job, await if_gone(_seeing(by), job["uid"], by.find_index))


async def _hold(request: Request, by: Looker, job: Json) -> Preview:
    return of_jobs.hold(job, await if_gone(_seeing(by), job["uid"], by.find_index))


async def _release(request: Request, by: Looker, job: Json) -> Preview:
    why_not = await by.hub.read(hold.why_not_released, job["uid"])
    return of_jobs.release(job, await planned(by, job), why_not)


async def _priority(request: Request, by: Looker, job: Json) -> Preview:
    classes = await by.hub.read(previews.priority_classes)
    chosen = request.query_params.get("class", job["priorityClass"])
    if chosen not in {"", *(name for name, _ in classes)}:
        chosen = job["priorityClass"]
    told = await planned(by, job, dict(classes).get(chosen, 0))
    return of_jobs.priority(job, classes, chosen, told)


async def _resubmit(request: Request, by: Looker, job: Json) -> Preview:
    copy = await free_copy(by, job)
    hidden = is_hidden(copy)
    told = None if hidden else await planned_copy(by, copy)
    return of_jobs.resubmit(job, copy, told, await printed(by, copy), hidden=hidden)


_JOB: Final[dict[str, Callable[[Request, Looker, Json], Shown]]] = {
    "cancel": _cancel,
    "hold": _hold,
    "release": _release,
    "priority": _priority,
    "resubmit": _resubmit,
    "delete": _delete,
}


def _seeing(by: Looker) -> Hub:
    return by.within(Verb.GET, Noun.JOBS)


def _not_now(verb: str, job: Json) -> Preview:
    """For a button of an outdated page, or one that was not offered."""
    name = f"{job['namespace']}/{job['name']}"
    said = (
        f"{name} is {job['state']} by now, or none of your roles allows this: nothing was changed."
    )
    return Preview(f"{verb.capitalize()} {name}?", "", of_jobs.NOTHING, "", refusal=said)


# --- what is answered -----------------------------------------------------------------------------


async def _looker(request: Request) -> Looker:
    who = await actor(request)
    if who is None:
        raise Rejected(RejectCode.UNAUTHENTICATED, "sign in first: your session has ended")
    by = looker(request, who)
    spend(by.hub, who, "reads")
    return by


def _require_clusters(by: Looker, verb: Verb) -> None:
    if not by.rights.allows(verb, Noun.CLUSTERS):
        said = f"no role that {by.who.name} has allows to {verb} clusters"
        raise Rejected(RejectCode.FORBIDDEN, said)


def _nothing() -> Rejected:
    return Rejected(RejectCode.NOT_FOUND, "there is no such action")


def _buttons(acts: Sequence[Act]) -> Response:
    return html("actions/buttons.html", acts=acts)


def _dialog(request: Request, preview: Preview) -> Response:
    call = preview.call
    return html(
        "actions/dialog.html",
        preview=preview,
        body="" if call.body is None else orjson.dumps(call.body).decode(),
        key=uuid.uuid4().hex if call.key else "",
        again=request.url.path,
        mark=mark_of(request),
        header=MARK,
    )

"""`/v1/kinds`: versions of the kinds that administrators define, and a dry run of a definition.

Definitions are applied and deleted as other objects are (`/v1/apply`, `/v1/objects`).
"""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.bodies import read_many
from hub.api.models.kinds import CheckedKinds, DefinedVersions
from hub.api.models.objects import Manifest
from hub.api.openapi_parts import JSON, YAML, listed, ref
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.services.kinds import checked_kinds
from hub.services.kinds.definitions import EXTENSION, KARTA, GivenDefinition, check, judge
from shared.clock import Clock
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.registry import identify, parse
from shared.labels import QUEUE_NAME
from shared.reject_codes import RejectCode
from shared.workkinds.catalog import builtin_catalog
from shared.workkinds.isolated import SharedTime, isolated_jq
from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.reading import KindReader, queue_of
from shared.workkinds.report import report

router = new_router("fleet")
MOST_DEFINITIONS: Final = 20
MOST_SAMPLES: Final = 20  # each may take 200 ms, all of them `SHARED_S`
_TRIED: Final = "dry-run"  # the queue of a sample that names none
_EXAMPLE: Final = {
    "apiVersion": "run.ai/v1alpha1",
    "kind": "Karta",
    "metadata": {"name": "swarm"},
    "spec": {
        "structureDefinition": {
            "rootComponent": {
                "name": "swarm",
                "kind": {"group": "example.org", "version": "v1", "kind": "Swarm"},
            }
        }
    },
}


@router.get("/v1/kinds", response_model=DefinedVersions)
@allow(ADMINISTRATOR, VIEWER)
async def list_kind_versions(request: Request) -> Response:
    """Versions of the kinds that administrators defined. Those that are built in change with the release."""
    return JsonResponse(await hub_of(request).read(checked_kinds.list_versions))


@router.post(
    "/v1/kinds:check",
    response_model=CheckedKinds,
    openapi_extra=openapi_parts.body(
        {JSON: {"anyOf": [ref(Manifest), listed(Manifest)]}, YAML: ref(Manifest)}, _EXAMPLE
    ),
)
@allow(ADMINISTRATOR)
@refuses(RejectCode.FORBIDDEN)
async def check_kinds(request: Request) -> Response:
    """Try definitions of kinds, and read sample objects by them; nothing is kept.

    The other documents of the body are samples, each read as if it named a queue.
    """
    hub = hub_of(request)
    documents = [value for _, value in await read_many(request, of_any_kind=True)]
    async with hub.studying:
        given, samples = await asyncio.to_thread(_judged, documents)
        told = await hub.read(checked_kinds.checked, given)
        objects = await asyncio.to_thread(_tried, given, samples, hub.clock)
    return JsonResponse({"kinds": told, "objects": objects})


def _judged(documents: list[object]) -> tuple[list[GivenDefinition], list[Json]]:
    """Sound definitions, and the samples. Raises Rejected."""
    parts: dict[tuple[str, str], list[Json]] = {KARTA: [], EXTENSION: []}
    samples: list[Json] = []
    for each in documents:
        group, _, kind = identify(each)
        assert isinstance(each, dict)
        if (group, kind) in parts:
            check(parse(each))
            parts[group, kind].append(each)
        else:
            samples.append(_queued(each))
    if not parts[KARTA]:
        text = "no Karta is among the documents: `roadstead plan` tells what jobs would do"
        raise Rejected(RejectCode.REQUIRED, text)
    if len(parts[KARTA]) > MOST_DEFINITIONS or len(samples) > MOST_SAMPLES:
        text = f"send at most {MOST_DEFINITIONS} Kartas and {MOST_SAMPLES} samples"
        raise Rejected(RejectCode.TOO_MANY_ITEMS, text)
    given = judge(parts[KARTA], parts[EXTENSION])
    for one in given:
        if one.fault:
            raise Rejected(RejectCode.INVALID_VALUE, one.fault)
    return given, samples


def _tried(given: list[GivenDefinition], samples: list[Json], clock: Clock) -> list[Json]:
    """Read the samples; one for which no time is left is refused with that reason."""
    definitions = [one.definition for one in given if one.definition is not None]
    with isolated_jq() as bounded:
        catalog = builtin_catalog().with_added(definitions)
        reader = KindReader(catalog, JqLanguage(), SharedTime(bounded, clock), JqSyntax())
        objects: list[Json] = report(reader.read_all(samples))["objects"]
    return objects


def _queued(sample: Json) -> Json:
    if queue_of(sample):
        return sample
    metadata = sample.get("metadata")
    about: Json = metadata if isinstance(metadata, dict) else {}
    labels = about.get("labels")
    marks: Json = labels if isinstance(labels, dict) else {}
    return {**sample, "metadata": {**about, "labels": {**marks, QUEUE_NAME: _TRIED}}}

"""Parts of `/openapi.json` for routes that parse or stream bodies: bodies, parameters, media types."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel

from shared.documents import Json

JSON: Final = "application/json"
YAML: Final = "application/yaml"
NDJSON: Final = "application/x-ndjson"
MERGE_PATCH: Final = "application/merge-patch+json"
EVENTS: Final = "text/event-stream"
Described = Json


def ref(model: type[BaseModel]) -> Described:
    """The schema of a model, by name; `hub.api.description.RAW` has those that no route declares."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def listed(model: type[BaseModel]) -> Described:
    """A list of these."""
    return {"type": "array", "items": ref(model)}


def body(
    content: Mapping[str, Described], example: object, parameters: Sequence[Described] = ()
) -> Described:
    """`openapi_extra` of a route that reads its body itself: schema by media type."""
    told = {
        media_type: {"schema": schema}
        | ({"examples": {"usual": {"value": example}}} if media_type == JSON else {})
        for media_type, schema in content.items()
    }
    return {"requestBody": {"required": True, "content": told}, "parameters": list(parameters)}


def parameter(place: str, name: str, schema: Described, said: str) -> Described:
    """A parameter of the query, or a header, that may be left out."""
    return {"in": place, "name": name, "required": False, "schema": schema, "description": said}


def events(model: type[BaseModel], said: str) -> dict[int | str, Described]:
    """`responses` of a route that streams server-sent events: each has one of these as its `data`."""
    told = {"type": "string", "contentMediaType": JSON, "contentSchema": ref(model)}
    event = {
        "type": "object",
        "properties": {"id": {"type": "string", "description": "The revision."}, "data": told},
    }
    return {200: {"description": said, "content": {EVENTS: {"schema": event}}}}


IDEMPOTENCY_KEY: Final = parameter(
    "header",
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
    "The same key and body get the same answer for 24 hours.",
)
REPLAY: Final[Described] = {
    "Idempotent-Replay": {
        "description": "`true` where an earlier request with this key was answered so.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}
A_JOB: Final[Described] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"generateName": "hello-", "namespace": "team-a"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "busybox:1.36",
                        "command": ["echo", "hello"],
                        "resources": {"requests": {"cpu": "1", "memory": "64Mi"}},
                    }
                ],
            }
        }
    },
}

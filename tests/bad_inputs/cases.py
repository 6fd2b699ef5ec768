"""The bad inputs as requests: `job_cases()` reads bad-inputs.yaml and makes what it only describes.

    from tests.bad_inputs.cases import job_cases

Each case says what to send to the route that takes one job, and what must come back.
"""

import copy
import functools
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonpatch
import yaml

HERE = Path(__file__).parent
MIB = 1024 * 1024


@dataclass(frozen=True)
class Case:
    """One request and its expected answer.

    `body` is what is sent, unless `stream` gives it in chunks without a length. `times` is how often
    it is sent; the expectation is that of the last time. `code` None: any code, or none.
    """

    number: int
    variant: int
    input: str
    body: bytes
    status: int
    code: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    state: str | None = None
    note: str = ""
    times: int = 1
    namespace_level: str = ""
    stream: Callable[[], Iterator[bytes]] | None = None

    @property
    def id(self) -> str:
        return f"{self.number}.{self.variant}"

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "application/json")


def job_cases() -> list[Case]:
    """Every case and variant, in the order of the file."""
    return [case for entry in _file()["inputs"] for case in _variants(entry)]


def valid_job() -> dict[str, Any]:
    """A fresh copy of the job that the patches start from."""
    return copy.deepcopy(_file()["valid_job"])


@functools.cache
def _file() -> dict[str, Any]:
    return yaml.safe_load((HERE / "bad-inputs.yaml").read_text())


def labelled_namespace(level: str) -> dict[str, Any]:
    """Namespace team-a with that Pod Security level."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team-a", "labels": labels},
    }


def _variants(entry: dict[str, Any]) -> Iterator[Case]:
    for index, variant in enumerate(entry.get("cases", [{}])):
        both = {**entry, **variant}
        number = entry["id"]
        made = _MADE.get((number, index))
        headers = {"Content-Type": "application/json", **entry.get("headers", {})}
        headers |= variant.get("headers", {})
        yield Case(
            number=number,
            variant=index,
            input=variant.get("input", entry["input"]),
            body=made() if made else _body(both),
            status=_one(variant, entry, "expect_status", index),
            code=_one(variant, entry, "expect_code", index),
            headers={k: v for k, v in headers.items() if k not in _SET_BY_CLIENT},
            state=entry.get("expect_state"),
            note=entry["note"],
            times=2 if number == 17 else 1,
            namespace_level=both.get("namespace_level", ""),
            stream=_a_gibibyte if number == 7 else None,
        )


# A client library sets these by itself, from the body or stream it is given.
_SET_BY_CLIENT = {"Content-Length", "Transfer-Encoding"}


def _one(variant: dict[str, Any], entry: dict[str, Any], name: str, index: int) -> Any:
    if name in variant:
        return variant[name]
    value = entry[name]
    return value[index] if isinstance(value, list) else value


def _body(entry: dict[str, Any]) -> bytes:
    if "body" in entry:
        body = entry["body"]
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return json.dumps(_patched(entry.get("patch", []))).encode()


def _patched(operations: list[dict[str, Any]]) -> dict[str, Any]:
    return jsonpatch.apply_patch(valid_job(), operations)


def _add(path: str, value: Any) -> bytes:
    return json.dumps(_patched([{"op": "add", "path": path, "value": value}])).encode()


def _deeply_nested() -> bytes:
    return b"[" * 10_000 + b"]" * 10_000


def _one_byte_too_long() -> bytes:
    job = json.dumps(valid_job()).encode()
    return job + b" " * (MIB + 1 - len(job))


def _a_gibibyte() -> Iterator[bytes]:
    chunk = b" " * (64 * 1024)
    for _ in range(16 * 1024):
        yield chunk


def _zipped() -> bytes:
    return gzip.compress(json.dumps(valid_job()).encode() + b" " * MIB)


def _large_annotations() -> bytes:
    return _add("/metadata/annotations", {f"example.com/a{i}": "x" * 64 * 1024 for i in range(5)})


def _many_containers() -> bytes:
    containers = [{"name": f"c{i}", "image": "busybox:1.36"} for i in range(1001)]
    return _add("/spec/template/spec/containers", containers)


_MADE: dict[tuple[int, int], Callable[[], bytes]] = {
    (5, 0): _deeply_nested,
    (6, 0): _one_byte_too_long,
    (7, 0): lambda: b"",
    (8, 0): _zipped,
    (9, 0): lambda: b'{"metadata":{"name":"\xff\xfe"}}',
    (19, 0): _large_annotations,
    (28, 1): _many_containers,
    (31, 2): lambda: _add("/spec/template/spec/containers/0/image", "i" * 5000),
}

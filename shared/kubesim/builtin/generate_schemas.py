"""Makes `builtin_schemas.json`: the fields of the built-in kinds, from Kubernetes' own descriptions.

A tool for developers: `python -m shared.kubesim.builtin.generate_schemas MODULE_CACHE/k8s.io` reads the
OpenAPI documents of the module `k8s.io/kubernetes` and the protocol buffer definitions beside it.
What is kept: names, types, list types and keys, patch strategies, required fields, field numbers;
no descriptions.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from shared.kubesim.builtin.kinds import BUILT_IN

OUTPUT = Path(__file__).parents[1] / "schema" / "builtin_schemas.json"
_REF = "#/components/schemas/io.k8s."
_SPECIAL = {
    "apimachinery.pkg.util.intstr.IntOrString": "intstr",
    "apimachinery.pkg.api.resource.Quantity": "quantity",
    "apimachinery.pkg.runtime.RawExtension": "any",
    "apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "apimachinery.pkg.apis.meta.v1.Time": "time",
    "apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}
_SCALARS = {
    ("string", ""): "string",
    ("string", "byte"): "bytes",
    ("string", "date-time"): "time",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("integer", ""): "int64",
    ("number", "double"): "double",
    ("boolean", ""): "bool",
}
_FURTHER_KINDS = {
    ("authentication.k8s.io", "v1"): ("SelfSubjectReview", "TokenReview", "TokenRequest"),
    ("authorization.k8s.io", "v1"): (
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ),
    ("autoscaling", "v1"): ("Scale",),
    ("policy", "v1"): ("Eviction",),
    ("", "v1"): ("Binding",),
}
_META = ("DeleteOptions", "ListMeta")
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(
    r"^\s+(?:optional|repeated)?\s*((?:map<[^>]+>)|[\w.]+) (\w+) = (\d+);", re.MULTILINE
)


def main() -> None:
    """Write the file anew."""
    modules = Path(sys.argv[1])
    schemas, kinds = _openapi(modules)
    definitions = _closure(
        schemas, [*kinds.values(), *(f"apimachinery.pkg.apis.meta.v1.{name}" for name in _META)]
    )
    messages = _messages(modules, definitions)
    parts = {"kinds": kinds, "definitions": definitions, "messages": messages}
    lines = [
        orjson.dumps(title).decode() + ": {\n" + _rows(rows) + "\n}"
        for title, rows in parts.items()
    ]
    OUTPUT.write_text("{" + ",\n".join(lines) + "}\n")


def _rows(rows: dict[str, Any]) -> str:
    return ",\n".join(
        f"{orjson.dumps(name).decode()}: {orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode()}"
        for name, row in sorted(rows.items())
    )


def _openapi(modules: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """All schemas by short name, and the definition of each kind that is served."""
    wanted = {(one.group, one.version, one.kind) for one in BUILT_IN}
    for (group, version), names in _FURTHER_KINDS.items():
        wanted |= {(group, version, name) for name in names}
    schemas: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    folder = next(modules.glob("kubernetes@*")) / "api" / "openapi-spec" / "v3"
    for path in sorted(folder.glob("*v1_openapi.json")):
        for name, schema in orjson.loads(path.read_bytes())["components"]["schemas"].items():
            short = name.removeprefix("io.k8s.")
            schemas[short] = schema
            for row in schema.get("x-kubernetes-group-version-kind", ()):
                if (row["group"], row["version"], row["kind"]) in wanted:
                    version = f"{row['group']}/{row['version']}".lstrip("/")
                    kinds[f"{version}/{row['kind']}"] = short
    return schemas, kinds


def _closure(schemas: dict[str, Any], roots: list[str]) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in definitions or name in _SPECIAL:
            continue
        definitions[name] = row = _definition(schemas[name])
        for field in row.values():
            if isinstance(field, dict):
                waiting += re.findall(r"@([\w.\-]+)", field["t"])
    return definitions


def _definition(schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    row: dict[str, Any] = {}
    for name, field in schema.get("properties", {}).items():
        entry: dict[str, Any] = {"t": _type(field)}
        if name in required:
            entry["r"] = 1
        if "default" in field or (field.get("allOf") and name in required):
            entry["z"] = 1  # always there in Go: the zero value stands in for an absent field
        if field.get("default") not in (None, {}, "", 0, False):
            entry["d"] = field["default"]
        for short, long in (
            ("l", "x-kubernetes-list-type"),
            ("k", "x-kubernetes-list-map-keys"),
            ("a", "x-kubernetes-map-type"),
            ("p", "x-kubernetes-patch-strategy"),
            ("m", "x-kubernetes-patch-merge-key"),
        ):
            if long in field:
                entry[short] = field[long]
        row[name] = entry
    if schema.get("x-kubernetes-map-type"):
        row[""] = schema["x-kubernetes-map-type"]
    return row


def _type(field: dict[str, Any]) -> str:
    reference = field.get("$ref") or (field.get("allOf") or [{}])[0].get("$ref")
    if reference:
        name = reference.removeprefix(_REF)
        return _SPECIAL.get(name, f"@{name}")
    kind = field.get("type")
    if kind == "array":
        return "[" + _type(field["items"])
    if kind == "object":
        values = field.get("additionalProperties")
        return "{" + _type(values) if isinstance(values, dict) else "any"
    return _SCALARS.get((kind or "", field.get("format", "")), "any")


def _messages(modules: Path, definitions: dict[str, Any]) -> dict[str, Any]:
    """Field numbers of each definition's message, and of the messages embedded in them."""
    found: dict[str, dict[str, Any]] = {}
    for path in _protos(modules):
        text = re.sub(r"//.*", "", path.read_text())
        package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
        if package is None:
            continue
        prefix = package[1].removeprefix("k8s.io.")
        for name, body in _MESSAGE.findall(text):
            found[f"{prefix}.{name}"] = {
                number: (field, _absolute(kind, prefix))
                for kind, field, number in _FIELD.findall(body)
            }
    messages: dict[str, Any] = {}
    for name, row in definitions.items():
        if name in found:
            messages[name] = _numbered(name, row, definitions, found, messages)
    return messages


def _numbered(
    name: str,
    row: dict[str, Any],
    definitions: dict[str, Any],
    found: dict[str, Any],
    messages: dict[str, Any],
) -> dict[str, str]:
    numbers = {}
    for number, (field, kind) in found[name].items():
        if field in row:
            numbers[number] = field
        elif (
            kind in found and kind not in definitions
        ):  # embedded: its fields are those of the outer definition
            numbers[number] = f"<{kind}"
            messages[kind] = _numbered(kind, row, definitions, found, messages)
    return numbers


def _absolute(kind: str, prefix: str) -> str:
    return kind.removeprefix(".k8s.io.") if kind.startswith(".") else f"{prefix}.{kind}"


def _protos(modules: Path) -> Iterator[Path]:
    for module in ("api", "apimachinery", "apiextensions-apiserver"):
        yield from sorted(next(modules.glob(f"{module}@*")).rglob("v1/generated.proto"))


if __name__ == "__main__":
    main()

"""Finds the pods of a manifest: a Pod itself, and every pod template or pod spec inside any kind. Pure.

A pod template is a mapping whose `spec` has containers, whatever its name. A pod spec without a template, as
in custom resources, is a mapping with containers that name images. Argo's templates have one `container` or
`script`, and inherit the fields of the workflow's spec.

Operators merge parts of pod specs into pods, under names that nobody knows. So a mapping with a field of pods
that may be dangerous is a part of a pod spec: baseline holds for it wherever it is.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from shared.podsecurity.pods import LISTS, ONES, Json, mapping

_DEEPEST: Final = 32  # a body is refused before it nests deeper
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
# Fields of a pod or a container without which nothing breaks baseline, with their types.
_DANGEROUS: Final[dict[str, type]] = {
    "securityContext": dict,
    "podSecurityContext": dict,
    "volumes": list,
    "podSpecPatch": str,
    **dict.fromkeys(LISTS, list),
}
_ARGO: Final = "argoproj.io/"
_NOTHING: Final[Json] = {}


class Template(NamedTuple):
    """Pods of a manifest, as the manifest has them.

    `path`: of the template; "" is the Pod itself. `at`: the path of the pod spec. `body` has `metadata` and
    `spec`. `inherited`: fields that the pods get where their spec does not set them. `is_part`: only a part
    of a pod spec, for which no default holds.
    """

    path: str
    at: str
    body: Json
    inherited: Json = _NOTHING
    is_part: bool = False

    @property
    def spec(self) -> Json:
        """The pod spec, with what it inherits."""
        own = mapping(self.body.get("spec"))
        return {**self.inherited, **own} if self.inherited else own


def marked_of(manifest: Json) -> Iterator[tuple[str, Json]]:
    """The metadata of every template of other objects than pods, with its path: `jobTemplate` and the like.

    A controller copies it to the objects that it makes.
    """
    for name, path, value in mappings_of(manifest):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and name.lower().endswith(("template", "templates")):
            yield f"{path}.metadata", metadata


class _Workflow(NamedTuple):
    """The spec of an Argo workflow, and its path."""

    at: str = ""
    spec: Json = _NOTHING

    def pods(self) -> Iterator[Template]:
        """Its pod fields, which every step gets."""
        if self.spec:
            yield Template(self.at, self.at, {"spec": self.spec})

    def step(self, value: Json, path: str) -> Iterator[Template]:
        """A pod spec or a part of one, within the workflow or anywhere else."""
        body = {"metadata": mapping(value.get("metadata")), "spec": value}
        if path == self.at:
            return
        if _names_an_image(value):
            inherited = {name: each for name, each in self.spec.items() if name != "templates"}
            yield Template(path, path, body, inherited)
        elif _is_part(value):
            yield Template(path, path, body, is_part=True)


def templates_of(manifest: Json) -> Iterator[Template]:
    """Every pod template and pod spec, in the manifest's order."""
    if manifest.get("kind") == "Pod" and manifest.get("apiVersion") == "v1":
        yield Template("", "spec", manifest)
        return
    workflow = _workflow(manifest)
    yield from workflow.pods()
    for name, path, value in mappings_of(manifest):
        spec = value.get("spec")
        if _has_containers(spec) and (_is_template(name) or _names_an_image(spec)):
            yield Template(path, f"{path}.spec", value)
        else:
            yield from workflow.step(value, path)


def _workflow(manifest: Json) -> _Workflow:
    """The workflow that a manifest is; of a CronWorkflow it is one level deeper."""
    if not str(manifest.get("apiVersion")).startswith(_ARGO):
        return _Workflow()
    spec = mapping(manifest.get("spec"))
    inner = spec.get("workflowSpec")
    if isinstance(inner, dict) and manifest.get("kind") == "CronWorkflow":
        return _Workflow("spec.workflowSpec", inner)
    return _Workflow("spec", spec)


def mappings_of(manifest: Json) -> Iterator[tuple[str, str, Json]]:
    """Every mapping in a manifest but its metadata and status: the name of its field, its path, itself."""
    for name, value in manifest.items():
        if name not in ("metadata", "status"):
            yield from _within(value, name, name, _DEEPEST)


def _within(value: Any, name: str, path: str, left: int) -> Iterator[tuple[str, str, Json]]:
    if left == 0:
        return
    if isinstance(value, dict):
        yield name, path, value
        for inner, each in value.items():
            if isinstance(each, dict | list):
                yield from _within(each, inner, f"{path}.{inner[:80]}", left - 1)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from _within(each, name, f"{path}[{index}]", left - 1)


def _is_part(value: Json) -> bool:
    return any(isinstance(value.get(name), of) for name, of in _DANGEROUS.items()) or any(
        value.get(each) is True for each in _HOST
    )


def _is_template(name: str) -> bool:
    return name.lower().endswith("template")


def _has_containers(spec: Any) -> bool:
    return any(isinstance(mapping(spec).get(name), list) for name in LISTS)


def _names_an_image(spec: Any) -> bool:
    """Does a mapping have containers of which one names an image, as those of pods do?"""
    given = mapping(spec)
    lists = [
        *(given.get(name) for name in LISTS),
        mapping(given.get("containerSet")).get("containers"),
    ]
    listed = [each for found in lists if isinstance(found, list) for each in found]
    return any("image" in mapping(each) for each in (*listed, *(given.get(one) for one in ONES)))

"""Finds the pods of a manifest: a Pod itself, and every pod template or pod spec inside any kind. Pure.

A pod template is a mapping whose `spec` has containers, whatever its name. A pod spec without a template, as
in custom resources, is a mapping with containers or with a host namespace of its own. Argo's templates have
one `container` or `script`, and inherit the fields of the workflow's spec.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from shared.podsecurity.pods import LISTS, ONES, Json, mapping

_DEEPEST: Final = 32  # a body is refused before it nests deeper
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
_ARGO: Final = "argoproj.io/"
_NOTHING: Final[Json] = {}


class Template(NamedTuple):
    """Pods of a manifest, as the manifest has them.

    `path`: of the template; "" is the Pod itself. `at`: the path of the pod spec. `body` has `metadata` and
    `spec`. `inherited`: fields that the pods get where their spec does not set them.
    """

    path: str
    at: str
    body: Json
    inherited: Json = _NOTHING

    @property
    def spec(self) -> Json:
        """The pod spec, with what it inherits."""
        own = mapping(self.body.get("spec"))
        return {**self.inherited, **own} if self.inherited else own


def marked_of(manifest: Json) -> Iterator[tuple[str, Json]]:
    """The metadata of every template of other objects than pods, with its path: `jobTemplate` and the like.

    A controller copies it to the objects that it makes.
    """
    for name, value in manifest.items():
        if name not in ("metadata", "status"):
            yield from _marked_within(value, name, name, _DEEPEST)


def _marked_within(value: Any, name: str, path: str, left: int) -> Iterator[tuple[str, Json]]:
    if left == 0:
        return
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and name.lower().endswith(("template", "templates")):
            yield f"{path}.metadata", metadata
        for inner, each in value.items():
            if isinstance(each, dict | list):
                yield from _marked_within(each, inner, f"{path}.{inner[:80]}", left - 1)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from _marked_within(each, name, f"{path}[{index}]", left - 1)


class _Workflow(NamedTuple):
    """The spec of an Argo workflow, and its path."""

    at: str = ""
    spec: Json = _NOTHING

    def pods(self) -> Iterator[Template]:
        """Its pod fields, which every step gets."""
        if self.spec:
            yield Template(self.at, self.at, {"spec": self.spec})

    def step(self, value: Json, path: str) -> Iterator[Template]:
        """A pod spec within it, or anywhere else."""
        if path != self.at and _is_pod_spec(value):
            body = {"metadata": mapping(value.get("metadata")), "spec": value}
            inherited = {name: each for name, each in self.spec.items() if name != "templates"}
            yield Template(path, path, body, inherited)


def templates_of(manifest: Json) -> Iterator[Template]:
    """Every pod template and pod spec, in the manifest's order."""
    if manifest.get("kind") == "Pod" and manifest.get("apiVersion") == "v1":
        yield Template("", "spec", manifest)
        return
    workflow = _workflow(manifest)
    yield from workflow.pods()
    for name, value in manifest.items():
        if name not in ("metadata", "status"):
            yield from _within(value, name, name, _DEEPEST, workflow)


def _workflow(manifest: Json) -> _Workflow:
    """The workflow that a manifest is; of a CronWorkflow it is one level deeper."""
    if not str(manifest.get("apiVersion")).startswith(_ARGO):
        return _Workflow()
    spec = mapping(manifest.get("spec"))
    inner = spec.get("workflowSpec")
    if isinstance(inner, dict):
        return _Workflow("spec.workflowSpec", inner)
    return _Workflow("spec", spec)


def _within(
    value: Any, name: str, path: str, left: int, workflow: _Workflow
) -> Iterator[Template]:
    if left == 0:
        return
    if isinstance(value, dict):
        spec = value.get("spec")
        if _has_containers(spec) and (_is_template(name) or _names_an_image(spec)):
            yield Template(path, f"{path}.spec", value)
            return
        yield from workflow.step(value, path)
        for inner, each in value.items():
            if isinstance(each, dict | list):
                yield from _within(each, inner, f"{path}.{inner[:80]}", left - 1, workflow)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from _within(each, name, f"{path}[{index}]", left - 1, workflow)


def _is_pod_spec(value: Json) -> bool:
    return _names_an_image(value) or any(value.get(each) is True for each in _HOST)


def _is_template(name: str) -> bool:
    return name.lower().endswith("template")


def _has_containers(spec: Any) -> bool:
    return any(isinstance(mapping(spec).get(name), list) for name in LISTS)


def _names_an_image(spec: Any) -> bool:
    """Does a mapping have containers of which one names an image, as those of pods do?"""
    given = mapping(spec)
    listed = [each for name in LISTS if isinstance(given.get(name), list) for each in given[name]]
    return any("image" in mapping(each) for each in (*listed, *(given.get(one) for one in ONES)))

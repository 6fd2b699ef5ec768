"""What the operator of AppWrappers makes of one: the objects in it, and its phase of theirs. Pure."""

from collections.abc import Mapping
from typing import Final

from shared.kubesim.operators.parts import (
    JOBS,
    PODS,
    Object,
    OperatorChild,
    has_condition,
    is_suspended,
    phase_of,
)

APP_WRAPPERS: Final = "appwrappers.workload.codeflare.dev"
_BUILT_IN: Final = {"Pod": PODS, "Service": "services", "Job": JOBS}
_DONE: Final = ("Complete", "Completed", "Succeeded")


def wrapped_objects(wrapper: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    """Each object in it, as it is there."""
    return [
        OperatorChild(_key(each["template"]), each["template"])
        for each in wrapper["spec"].get("components") or ()
    ]


def _key(manifest: Object) -> str:
    kind, group = manifest["kind"], manifest["apiVersion"].rpartition("/")[0]
    return _BUILT_IN.get(kind) or f"{kind.lower()}s.{group}"


def status_of_wrapper(wrapper: Object, there: Mapping[str, Object], _: str) -> Object:
    """Its phase: it fails with the first object that fails, and succeeds with the last that does."""
    if is_suspended(wrapper):
        return {"phase": "Suspending" if there else "Suspended"}
    named = [
        each.manifest["metadata"]["name"]
        for each in wrapped_objects(wrapper, there)
        if each.key != _BUILT_IN["Service"]
    ]
    objects = [there[name] for name in named if name in there]
    if any(_is(each, "Failed") for each in objects):
        return {"phase": "Failed"}
    if len(objects) < len(named):
        return {"phase": "Resuming"}
    return {"phase": "Succeeded" if all(_is(each, *_DONE) for each in objects) else "Running"}


def _is(obj: Object, *ends: str) -> bool:
    status = obj.get("status") or {}
    if obj["kind"] == "Pod":
        return phase_of(obj) in ends
    return status.get("jobDeploymentStatus") in ends or has_condition(status, *ends)


def has_ended_wrapper(wrapper: Object) -> bool:
    """Whether its phase is one of the last ones."""
    return (wrapper.get("status") or {}).get("phase") in {"Succeeded", "Failed"}

"""Names as users type them, as segments of the hub's paths."""

from urllib.parse import quote

from roadstead.errors import NotFound


def text(name: str) -> str:
    """Check that a name is a str. Raises TypeError."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {type(name).__name__}: {name!r}")
    return name


def job_path(name: str) -> str:
    """The path of a job named by uid or by `namespace/name`. Raises NotFound for anything else."""
    name = text(name)
    if "/" in name:
        namespace, short = pair(name, "job", "NAMESPACE/NAME or a uid")
        return f"/v1/namespaces/{part(namespace)}/jobs/{part(short)}"
    if not name:
        raise _no_name(name, "job", "NAMESPACE/NAME or a uid")
    return f"/v1/jobs/{part(name)}"


def workload_path(name: str) -> str:
    """The path of a Workload named by `namespace/name`. Raises NotFound for anything else."""
    namespace, short = pair(name, "Workload", "NAMESPACE/NAME")
    return f"/v1/workloads/{part(namespace)}/{part(short)}"


def pair(name: str, noun: str, expected: str) -> tuple[str, str]:
    """Namespace and name. Raises NotFound if `name` does not have both."""
    namespace, _, short = text(name).partition("/")
    if not namespace or not short or "/" in short:
        raise _no_name(name, noun, expected)
    return namespace, short


def object_path(group: str, kind: str, namespace: str, name: str) -> str:
    """The path of an object of any kind; `group` is "core" or "" for Kubernetes' own."""
    within = f"namespaces/{part(namespace)}/" if namespace else ""
    return f"/v1/objects/{part(group or 'core')}/{part(kind)}/{within}{part(name)}"


def either(name: str) -> str:
    """`name` or `namespace/name` as segments of a path."""
    return "/".join(part(each) for each in text(name).split("/", 1))


def part(name: str) -> str:
    """One escaped segment of a path, for any user input; a single dot would be resolved away.

    Raises NotFound for an empty name.
    """
    if not text(name):
        raise NotFound(404, {"code": "NotFound", "detail": "the name is empty"})
    quoted = quote(name, safe="", errors="replace")  # what a terminal sent may be no text at all
    return quoted if name.strip(".") else quoted.replace(".", "%2E")


def _no_name(name: str, noun: str, expected: str) -> NotFound:
    detail = f"{name!r} is not the name of a {noun}: use {expected}"
    return NotFound(404, {"code": "NotFound", "detail": detail})

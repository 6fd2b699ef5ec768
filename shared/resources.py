"""Resource vectors, what one pod requests, and the pod sets of a Job.

Pure arithmetic over plain manifests. Amounts are `shared.quantity`'s: milli-cores for CPU, base
units otherwise. A pod's requests follow Kubernetes' own rule (component-helpers `PodRequests`), so
that what the hub reserves is what a member's scheduler will look for; a Job's pod set follows
Kueue's (count = min(parallelism, completions)).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shared import quantity
from shared.errors import Rejected
from shared.reject_codes import RejectCode

MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"


class Resources(Mapping[str, int]):
    """An immutable vector of exact amounts by resource name; what is not named is zero."""

    __slots__ = ("_amounts", "_hash")

    def __init__(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._amounts: dict[str, int] = dict(amounts)
        self._hash: int | None = None

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset((k, v) for k, v in self._amounts.items() if v))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return all(self.get(n, 0) == other.get(n, 0) for n in {*self, *other})

    def __add__(self, other: Mapping[str, int]) -> Self:
        total = dict(self._amounts)
        for name, amount in other.items():
            total[name] = total.get(name, 0) + amount
        return type(self)(total)

    def __sub__(self, other: Mapping[str, int]) -> Self:
        return self + {name: -amount for name, amount in other.items()}

    def __le__(self, other: Mapping[str, int]) -> bool:
        return all(amount <= other.get(name, 0) for name, amount in self._amounts.items())

    def fits(self, room: Mapping[str, int]) -> bool:
        """Whether `room` has at least this much of everything; a zero asks for nothing."""
        return all(amount <= room.get(n, 0) for n, amount in self._amounts.items() if amount)

    def lacking(self, room: Mapping[str, int]) -> Self:
        """How much `room` is short of this, by resource; empty when it fits."""
        short = {n: amount - room.get(n, 0) for n, amount in self._amounts.items()}
        return type(self)({n: by for n, by in short.items() if by > 0 and self._amounts[n]})

    def saturating(self) -> Self:
        """The same vector with every amount held within a signed 64-bit integer."""
        return type(self)({n: quantity.clamp(amount) for n, amount in self._amounts.items()})

    def scaled(self, count: int, field: str = "") -> Self:
        """The vector taken `count` times; raises `QuantityTooLarge` where a product leaves 63 bits."""
        product = {n: amount * count for n, amount in self._amounts.items()}
        for name, amount in product.items():
            if amount > quantity.MAX:
                one = quantity.canonical(name, self._amounts[name])
                detail = f"{count} × {one} of {name} is more than 2^63-1"
                raise Rejected(RejectCode.QUANTITY_TOO_LARGE, detail, field)
        return type(self)(product)

    def __str__(self) -> str:
        return ", ".join(f"{n} {quantity.canonical(n, a)}" for n, a in sorted(self.items()))

    def __repr__(self) -> str:
        return f"Resources({self._amounts!r})"


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement of a node or label selector: `key operator values`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A nodeSelectorTerm: all expressions over labels and over fields must hold."""

    expressions: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration; empty key, operator Exists tolerates everything; empty effect, any."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods that are admitted together: what one asks for, how many, and where they may go.

    `affinity_terms` are the required node affinity's terms, ORed; None where there is none (an
    empty tuple matches no node, as in Kubernetes). `min_count` is set where fewer pods will do.
    """

    name: str
    count: int
    requests: Resources
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    min_count: int | None = None

    def total(self) -> Resources:
        """What all pods ask for together; raises `QuantityTooLarge`."""
        return self.requests.scaled(self.count)


def pod_requests(pod_spec: Mapping[str, Any], field: str = "spec") -> dict[str, int]:
    """What one pod of this spec requests, by Kubernetes' rule.

    App containers add up; an init container counts by itself on top of the restartable ones that
    started before it, and the largest such moment counts; restartable (sidecar) init containers
    add to the app containers; pod-level requests, where the API allows them, count where they exceed
    that; overhead is added. A limit without a request is the request. Sums are exact and rounded once.
    Raises `Rejected` (`QuantityTooLarge` for a sum, or what `quantity.parse` raises) with the path
    below `field`.
    """
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for index, container in enumerate(pod_spec.get("containers") or ()):
        _add(running, _requests(container, f"{field}.containers[{index}]"))
    for index, container in enumerate(pod_spec.get("initContainers") or ()):
        asked = _requests(container, f"{field}.initContainers[{index}]")
        if container.get("restartPolicy") == "Always":
            _add(running, asked)
            _add(sidecars, asked)
            _raise_to(starting, sidecars)
        else:
            _add(asked, sidecars)
            _raise_to(starting, asked)
    _raise_to(running, starting)
    _raise_to(running, _pod_level(pod_spec, running, field))
    _add(running, _read(pod_spec.get("overhead"), f"{field}.overhead"))
    return {
        name: quantity.from_nanos(name, amount, f"{field}.containers")
        for name, amount in running.items()
    }


def job_pod_sets(job: Mapping[str, Any]) -> tuple[PodSet, ...]:
    """The pod sets of a batch/v1 Job: one, named `main`, of min(parallelism, completions) pods.

    Both default to 1 as in Kubernetes. Raises as `pod_requests` does, and `QuantityTooLarge` where
    all pods together leave 63 bits.
    """
    spec = job.get("spec") or {}
    annotations = (job.get("metadata") or {}).get("annotations") or {}
    count = job_pod_count(spec)
    template = spec.get("template") or {}
    least = least_pod_count(annotations, count)
    return (pod_set_of("main", count, template, "spec.template", least),)


def job_pod_count(spec: Mapping[str, Any]) -> int:
    """How many pods of a Job run at once: min(parallelism, completions), each 1 by default."""
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    count = 1 if parallelism is None else int(parallelism)
    return count if completions is None else min(count, int(completions))


def least_pod_count(annotations: Mapping[str, Any], count: int) -> int | None:
    """How few pods will do, where Kueue's annotation for partial admission says so."""
    least = annotations.get(MIN_PARALLELISM)
    if not isinstance(least, str) or not least.isdecimal() or len(least) > 10:
        return None
    return int(least) if 0 < int(least) < count else None


def pod_set_of(
    name: str,
    count: int,
    template: Mapping[str, Any],
    field: str = "template",
    min_count: int | None = None,
) -> PodSet:
    """A pod set from a pod template; raises as `job_pod_sets` does."""
    spec = template.get("spec") or {}
    requests = Resources(pod_requests(spec, f"{field}.spec"))
    requests.scaled(count, f"{field}.spec.containers")
    return PodSet(
        name=name,
        count=count,
        requests=requests,
        node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        affinity_terms=_required_terms(spec.get("affinity") or {}),
        tolerations=tuple(_toleration(t) for t in spec.get("tolerations") or ()),
        min_count=min_count,
    )


def _requests(container: Mapping[str, Any], field: str) -> dict[str, int]:
    resources = container.get("resources") or {}
    asked = _read(resources.get("limits"), f"{field}.resources.limits")
    return asked | _read(resources.get("requests"), f"{field}.resources.requests")


def _read(listed: Mapping[str, Any] | None, field: str) -> dict[str, int]:
    if not listed:
        return {}
    return {n: quantity.nanos(text, f"{field}.{n}") for n, text in listed.items()}


def _pod_level(pod_spec: Mapping[str, Any], summed: dict[str, int], field: str) -> dict[str, int]:
    """`spec.resources`: its requests, and its limits where no container asks for the resource."""
    resources = pod_spec.get("resources") or {}
    requests = _read(resources.get("requests"), f"{field}.resources.requests")
    limits = _read(resources.get("limits"), f"{field}.resources.limits")
    asked = {n: amount for n, amount in limits.items() if n not in summed} | requests
    return {n: amount for n, amount in asked.items() if _is_pod_level(n)}


def _is_pod_level(name: str) -> bool:
    return name in {"cpu", "memory"} or name.startswith("hugepages-")


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], other: Mapping[str, int]) -> None:
    for name, amount in other.items():
        if amount > total.get(name, -1):
            total[name] = amount


def _required_terms(affinity: Mapping[str, Any]) -> tuple[NodeTerm, ...] | None:
    node = affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return None
    return tuple(
        NodeTerm(expressions(t.get("matchExpressions")), expressions(t.get("matchFields")))
        for t in required.get("nodeSelectorTerms") or ()
    )


def expressions(listed: Iterable[Mapping[str, Any]] | None) -> tuple[Expression, ...]:
    """Requirements as manifests spell them."""
    return tuple(
        Expression(e.get("key", ""), e.get("operator", ""), tuple(e.get("values") or ()))
        for e in listed or ()
    )


def _toleration(listed: Mapping[str, Any]) -> Toleration:
    return Toleration(
        key=listed.get("key") or "",
        operator=listed.get("operator") or "Equal",
        value=listed.get("value") or "",
        effect=listed.get("effect") or "",
        seconds=listed.get("tolerationSeconds"),
    )

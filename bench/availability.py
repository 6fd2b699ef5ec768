"""Availability: what one look at an object costs an agent, by kind; and what the hostile cost at the most.

Objects are as their controllers leave them, with the managed fields of a live one. `us` are microseconds of
one evaluation (median of batches), `compile_us` of making the expression, once per rule. `worst_ms` is the
slowest evaluation that was begun of expressions whose steps grow faster than their lists, of up to 5,000.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from agent.objects.rules import AvailabilityRules
from bench.local_fleet import machine, show
from shared.expressions.expression import compiled
from shared.kinds.availability_rules import BUILT_IN

_BATCH = 200
_BATCHES = 25
_HOSTILE = (
    "object.l.all(a, object.l.all(b, a + b >= 0))",
    "size(object.l.map(a, object.l)) > 0",
    "object.l.all(a, object.l == object.l)",
    "size(object.m.filter(x, x.a > 0)) > 0",
    "size(object.m.map(x, [x, x, x])) > 0",
    "object.m.all(x, x.b.all(y, y > 0))",
    "size(object.m.map(x, x.b.map(y, x))) > 0",
    "size(object.l.filter(a, a >= 0).map(b, b).filter(c, c >= 0).map(d, [d, d])) > 0",
)


def a_live(group: str, kind: str) -> dict[str, Any]:
    """An object of the kind that is available, as large as such objects are."""
    fields: dict[str, Any] = {f"f:{name}": {} for name in ("spec", "status", *map(str, range(40)))}
    conditions = [
        {
            "type": name,
            "status": "False",
            "reason": "Not",
            "message": "no",
            "lastTransitionTime": "x",
        }
        for name in ("Progressing", "Degraded", "Issuing")
    ]
    held = [
        {
            "type": name,
            "status": "True",
            "observedGeneration": 3,
            "reason": "Yes",
            "message": "yes",
        }
        for name in ("Active", "Ready", "Admitted", "ResourcesUpToDate")
    ]
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {
            "name": "x",
            "generation": 3,
            "managedFields": [{"manager": "m", "fieldsV1": fields}] * 3,
        },
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a"}] * 3}}},
        "status": {
            "observedGeneration": "3" if kind == "Rollout" else 3,
            "phase": "Healthy" if kind == "Rollout" else "Running",
            "updatedReplicas": 3,
            "availableReplicas": 3,
            "sync": {"status": "Synced"},
            "health": {"status": "Healthy"},
            "conditions": conditions + held,
        },
    }


def microseconds(look: Callable[[], object]) -> float:
    look()
    taken = []
    for _ in range(_BATCHES):
        began = time.perf_counter()
        for _ in range(_BATCH):
            look()
        taken.append((time.perf_counter() - began) / _BATCH * 1e6)
    return round(statistics.median(taken), 1)


def worst() -> float:
    """Milliseconds."""
    slowest = 0.0
    for source in _HOSTILE:
        expression = compiled(source)
        for count in (10, 20, 40, 60, 80, 100, 130, 160, 200, 300, 500, 1000, 2000, 5000):
            obj = {"l": list(range(count)), "m": [{"a": 1, "b": [1] * 5}] * (count // 3 + 1)}
            began = time.perf_counter()
            expression.evaluate(obj)
            slowest = max(slowest, time.perf_counter() - began)
    return round(slowest * 1e3, 1)


def measure() -> dict[str, object]:
    began = time.perf_counter()
    compiled("true")
    loading = time.perf_counter() - began
    rules = AvailabilityRules()
    by_kind: dict[str, float] = {}
    for group, kind in [("apps", "Deployment"), ("example.org", "Thing"), *sorted(BUILT_IN)]:
        obj = a_live(group, kind)
        if rules.judge(obj).available is not True:
            raise SystemExit(f"{kind} is not available: {rules.judge(obj)}")
        by_kind[kind] = microseconds(lambda obj=obj: rules.judge(obj))  # type: ignore[misc]  # its own object
    compiling = []
    for rule in {each.available for each in BUILT_IN.values()}:
        compiled.cache_clear()
        began = time.perf_counter()
        compiled(rule)
        compiling.append((time.perf_counter() - began) * 1e6)
    return {
        "us": by_kind,
        "us_max": max(by_kind.values()),
        "compile_us_p50": round(statistics.median(compiling)),
        "compile_us_max": round(max(compiling)),
        "library_ms": round(loading * 1e3),
        "worst_ms": worst(),
        "machine": machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    show(measure(), only_json=args.json)


if __name__ == "__main__":
    main()

"""What one revision of an object has that another has not: fields by path, and what is not for everybody."""

from typing import Any

import pytest

from hub.services.placements.history.fields import MOST_FIELDS, changed_fields


def config(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def secret(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data}


def pod(image: str, *env: dict[str, str]) -> dict[str, Any]:
    container = {"name": "main", "image": image, "env": list(env)}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}


NO_POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
PLAIN_POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main"}]}}
A, B = {"name": "KEY", "value": "one"}, {"name": "KEY", "value": "two"}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (config(a="1"), config(a="1"), []),
        (config(a="1"), config(a="2"), [("/data/a", '"1"', '"2"')]),
        (config(a="1"), config(b="1"), [("/data/a", '"1"', ""), ("/data/b", "", '"1"')]),
        (config(**{"x/y~": "1"}), config(), [("/data/x~1y~0", '"1"', "")]),
        (secret(k="YQ=="), secret(k="Yg=="), [("/data/k", "[hidden]", "[hidden]")]),
        (secret(k="YQ=="), secret(), [("/data/k", "[hidden]", "")]),
        (
            pod("a:1"),
            pod("a:2"),
            [("/spec/containers/0/image", '"a:1"', '"a:2"')],
        ),
        (
            pod("a", A),
            pod("a", B),
            [("/spec/containers/0/env/0/value", "[hidden]", "[hidden]")],
        ),
        (pod("a", A), pod("a"), [("/spec/containers/0/env", "[hidden]", "[]")]),
        (pod("a", A), NO_POD, [("/spec/containers", "[hidden]", "[]")]),
        (NO_POD, PLAIN_POD, [("/spec/containers", "[]", '[{"name":"main"}]')]),
        (config() | {"status": {"x": 1}}, config() | {"status": {"x": 2}}, []),
    ],
)
def test_fields_are_told_by_their_paths(before: Any, after: Any, told: Any):
    """With both values as JSON; contents of Secrets and of environment variables are hidden."""
    fields, count = changed_fields(before, after)
    assert [(each.path, each.before, each.after) for each in fields] == told
    assert count == len(told)


def test_what_is_told_is_bounded():
    """So many fields of an object, and the beginning of a long value; how many differ is told."""
    before = config(**{f"k{n}": "x" for n in range(100)})
    fields, count = changed_fields(before, config(long="y" * 1000))
    assert (len(fields), count) == (MOST_FIELDS, 101)
    assert max(len(each.after) for each in fields) < 200

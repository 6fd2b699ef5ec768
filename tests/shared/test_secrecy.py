"""Secrets and environment values are taken out of whatever is shown; the rest stays as it is."""

import base64
from typing import Any

import pytest

from shared import secrecy


def mark(content: bytes) -> str:
    return f"mark of {len(content)}"


def test_a_secret_inside_another_object_is_redacted():
    """Envelopes carry manifests: a Secret is one wherever it stands."""
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"k": base64.b64encode(b"12345").decode()},
    }
    envelope = {"kind": "ResourceEnvelope", "data": {"one": secret}, "items": [secret]}
    shown = secrecy.without_secrets(envelope, mark)
    assert shown["data"]["one"]["data"] == shown["items"][0]["data"] == {"k": "mark of 5"}
    assert secret["data"]["k"] != "mark of 5"


def test_what_is_no_secret_is_left_alone():
    """A ConfigMap's data are for everybody."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}
    assert secrecy.without_secrets(manifest, mark) == manifest


def test_malformed_contents_are_hidden_too():
    """Data that is no object, and values that are no base64, are not shown either."""
    secret = {"apiVersion": "v1", "kind": "Secret", "data": ["x"], "stringData": {"k": 1}}
    assert secrecy.without_secrets(secret, mark) == {
        **secret,
        "data": secrecy.HIDDEN,
        "stringData": {"k": "mark of 1"},
    }


def test_only_texts_of_variables_are_hidden():
    """Names stay, and so does where a value is taken from."""
    reference = {"secretKeyRef": {"name": "s", "key": "k"}}
    env = [{"name": "A", "value": "x"}, {"name": "B", "valueFrom": reference}]
    assert secrecy.without_env([{"env": env}]) == [
        {"env": [{"name": "A", "value": secrecy.HIDDEN}, {"name": "B", "valueFrom": reference}]}
    ]


def test_what_is_no_field_of_a_secret_is_hidden():
    """A misspelt `stringdata` holds what its owner took for hidden."""
    plain = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": True}
    secret = {**plain, "stringdata": {"k": "12345"}, "value": "12345"}
    assert secrecy.without_secrets(secret, mark) == {
        **plain,
        "stringdata": secrecy.HIDDEN,
        "value": secrecy.HIDDEN,
    }


def test_variables_are_hidden_where_operators_have_them():
    """Maps of variables, settings whose name tells of a secret, documents with variables in a string."""
    shown = {
        "driver": {"envVars": {"PW": "x"}, "cores": 1},
        "sparkConf": {
            "spark.kubernetes.driverEnv.PW": "x",
            "spark.executorEnv.X": "x",
            "spark.hadoop.fs.s3a.secret.key": "x",
            "spark.eventLog.enabled": "true",
        },
        "rayStartParams": {"redis-password": "x", "num-cpus": "2"},
        "serveConfigV2": "env_vars: {TOKEN: x}",
        "runtimeEnvYAML": "env_vars: {TOKEN: x}",
        "gcsFaultToleranceOptions": {"redisPassword": {"value": "x"}},
    }
    hidden = secrecy.HIDDEN
    assert secrecy.without_env(shown) == {
        "driver": {"envVars": {"PW": hidden}, "cores": 1},
        "sparkConf": {
            "spark.kubernetes.driverEnv.PW": hidden,
            "spark.executorEnv.X": hidden,
            "spark.hadoop.fs.s3a.secret.key": hidden,
            "spark.eventLog.enabled": "true",
        },
        "rayStartParams": {"redis-password": hidden, "num-cpus": "2"},
        "serveConfigV2": hidden,
        "runtimeEnvYAML": hidden,
        "gcsFaultToleranceOptions": {"redisPassword": {"value": hidden}},
    }


REFERENCE = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
H = secrecy.HIDDEN


@pytest.mark.parametrize("name", ["env", "envVars", "env_vars", "extraEnv", "environment"])
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"TOKEN": "x", "N": 1}, {"TOKEN": H, "N": H}),
        ({"TOKEN": {"value": "x"}, "B": REFERENCE}, {"TOKEN": {"value": H}, "B": REFERENCE}),
        ([{"name": "A", "value": "x"}], [{"name": "A", "value": H}]),
        ([{"name": "A", **REFERENCE}], [{"name": "A", **REFERENCE}]),
        ([{"TOKEN": "x"}], [{"TOKEN": H}]),
        (["TOKEN=x"], [H]),
        ("production", "production"),
        (None, None),
    ],
)
def test_variables_are_hidden_in_lists_and_in_maps(name, given, shown):
    """By whatever of the usual names the kind has them; names and references stay."""
    assert secrecy.without_env({"spec": {name: given}}) == {"spec": {name: shown}}


@pytest.mark.parametrize(
    "setting",
    ["spark.yarn.appMasterEnv.X", "spark.executorEnv.X", "spark.kubernetes.driverEnv.X", "fs.pwd"],
)
@pytest.mark.parametrize("field", ["sparkConf", "hadoopConf"])
def test_settings_that_become_variables_are_hidden(field, setting):
    """Of whichever process."""
    assert secrecy.without_env({field: {setting: "x"}}) == {field: {setting: H}}


def test_the_schema_of_a_kind_has_no_variables():
    """A property named env is described there, not set."""
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"properties": {"env": {"type": "array"}}},
    }
    assert secrecy.without_env(crd) == crd

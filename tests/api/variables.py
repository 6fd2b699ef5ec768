"""Every shape in which a manifest has values of environment variables, and manifests that have them."""

from collections.abc import Callable
from typing import Any, Final

from tests.services.kinds.swarms import a_swarm

WORD: Final = "s3cr3t-value"  # the value
Json = dict[str, Any]


# By name, the fields of a spec in which a value stands.
SHAPES: Final[dict[str, Callable[[str], Json]]] = {
    "env of a container": lambda v: {
        "template": {"spec": {"containers": [{"name": "c", "env": [{"name": "T", "value": v}]}]}}
    },
    "env as map": lambda v: {"env": {"TOKEN": v}},
    "env as list of strings": lambda v: {"env": [f"TOKEN={v}"]},
    "env as list of maps": lambda v: {"env": [{"TOKEN": v}]},
    "env as list with key": lambda v: {"env": [{"key": "TOKEN", "value": v}]},
    "envVars as map": lambda v: {"driver": {"envVars": {"TOKEN": v}}},
    "envVars as list": lambda v: {"envVars": [{"name": "T", "value": v}]},
    "envs as map of objects": lambda v: {"envs": {"TOKEN": {"value": v}}},
    "env_vars as map": lambda v: {"env_vars": {"TOKEN": v}},
    "extraEnv as list": lambda v: {"extraEnv": [{"name": "T", "value": v}]},
    "environment as map": lambda v: {"environment": {"0": v}},
    "environment as list": lambda v: {"environment": [f"TOKEN={v}"]},
    "runtimeEnvYAML": lambda v: {"runtimeEnvYAML": f"env_vars:\n  TOKEN: {v}\n"},
    "serveConfigV2": lambda v: {
        "serveConfigV2": f"applications: [{{runtime_env: {{env_vars: {{T: {v}}}}}}}]"
    },
    "runtimeEnvYAML that can not be read": lambda v: {"runtimeEnvYAML": f"{{{v}"},
    "sparkConf, an executor's": lambda v: {"sparkConf": {"spark.executorEnv.T": v}},
    "sparkConf, a driver's": lambda v: {"sparkConf": {"spark.kubernetes.driverEnv.T": v}},
    "hadoopConf": lambda v: {"hadoopConf": {"fs.s3a.secret.key": v}},
    "rayStartParams": lambda v: {"head": {"rayStartParams": {"redis-password": v}}},
    "redisPassword": lambda v: {"gcs": {"redisPassword": {"value": v}}},
}


def a_thing(shape: str, value: str = WORD) -> Json:
    """An object of a kind that the hub does not know."""
    metadata = {"name": "t", "namespace": "team-a"}
    spec = SHAPES[shape](value)
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def a_swarm_with(shape: str, value: str = WORD) -> Json:
    """A job of a kind that an administrator declares."""
    return a_swarm(**SHAPES[shape](value))

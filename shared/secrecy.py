"""Redaction of manifests: contents of Secrets, and values of environment variables. Pure.

Functions give copies; what has nothing to hide is given back as it is.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

HIDDEN: Final = "[hidden]"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTENTS: Final = ("data", "stringData")
_PLAIN: Final = frozenset({"apiVersion", "kind", "metadata", "type", "status", "origin"})
# Variables, by the name of their field in lower case without `_`: a list or a map of them.
_VARIABLES: Final = frozenset(
    {"env", "envs", "envvars", "extraenv", "extraenvvars", "environment", "environmentvariables"}
)
_SOURCES: Final = frozenset({"name", "key", "valueFrom"})  # where a value is taken from
# Its maps are schemas.
_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
# Fields of operators: SparkApplication's sparkConf and hadoopConf; Ray's others.
_SETTINGS: Final = frozenset({"sparkConf", "hadoopConf", "rayStartParams"})
_SECRET_SETTING: Final = re.compile(r"env\.|secret|passw|pwd|token|credential|key", re.IGNORECASE)
_DOCUMENTS: Final = frozenset({"serveConfigV2", "runtimeEnvYAML"})  # YAML with env_vars
_PASSWORDS: Final = frozenset({"redisPassword", "redisUsername"})
Digest = Callable[[bytes], str]


def without_secrets(value: Any, digest: Digest) -> Any:
    """`value` with every Secret inside it redacted: its keys stay, of its values `digest` gives a mark.

    The same content has the same mark, whether it was given as text or as base64.
    """
    if isinstance(value, dict):
        if is_secret(value):
            return _redacted(value, digest)
        return {name: without_secrets(each, digest) for name, each in value.items()}
    if isinstance(value, list):
        return [without_secrets(each, digest) for each in value]
    return value


def without_env(value: Any) -> Any:
    """`value` with the values of all environment variables hidden: those given as text, in any `env`.

    Also where operators have them: lists and maps of variables, settings by name, documents in a string.
    """
    if isinstance(value, dict):
        if (value.get("apiVersion"), value.get("kind")) == _DEFINITION:
            return value
        return {name: _without_env(name, each) for name, each in value.items()}
    return [without_env(each) for each in value] if isinstance(value, list) else value


def _without_env(name: str, value: Any) -> Any:
    if name.replace("_", "").lower() in _VARIABLES:
        return _hidden_env(value)
    if name in _DOCUMENTS and isinstance(value, str):
        return HIDDEN
    if name in _SETTINGS and isinstance(value, dict):
        return {
            key: HIDDEN if _SECRET_SETTING.search(key) else each for key, each in value.items()
        }
    if name in _PASSWORDS and isinstance(value, dict) and "value" in value:
        return {**value, "value": HIDDEN}
    return without_env(value)


def is_secret(manifest: Mapping[str, Any]) -> bool:
    """Is this a Kubernetes Secret?"""
    return manifest.get("kind") == "Secret" and manifest.get("apiVersion") == "v1"


def _redacted(secret: dict[str, Any], digest: Digest) -> dict[str, Any]:
    # What is no field of a Secret may be one that was misspelt.
    kept = {
        name: each if name in _PLAIN or isinstance(each, bool) else HIDDEN
        for name, each in secret.items()
    }
    for part in _CONTENTS:
        content = secret.get(part)
        if isinstance(content, dict):
            kept[part] = {
                key: digest(_bytes(text, encoded=part == "data")) for key, text in content.items()
            }
        elif content is not None:
            kept[part] = HIDDEN
    metadata = secret.get("metadata")
    if isinstance(metadata, dict) and LAST_APPLIED in (metadata.get("annotations") or {}):
        notes = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
        kept["metadata"] = {**metadata, "annotations": notes}
    return kept


def _bytes(text: Any, *, encoded: bool) -> bytes:
    if encoded:
        try:
            return base64.b64decode("".join(str(text).split()), validate=True)
        except (binascii.Error, ValueError):
            pass
    return str(text).encode(errors="surrogatepass")


def _hidden_env(value: Any) -> Any:
    """A list of variables with name and value, or a map of them; anything else as it is."""
    if isinstance(value, list):
        return [_hidden_variable(each) for each in value]
    if isinstance(value, dict):
        return {name: _hidden_value(each) for name, each in value.items()}
    return value


def _hidden_variable(variable: Any) -> Any:
    """One of a list: an object with name and value, else NAME=VALUE, or an object of them."""
    if not isinstance(variable, dict):
        return HIDDEN
    return {
        name: each if name in _SOURCES else _hidden_value(each) for name, each in variable.items()
    }


def _hidden_value(value: Any) -> Any:
    """A value, or an object that has one or says where it is taken from."""
    if isinstance(value, dict):
        return {name: each if name in _SOURCES else HIDDEN for name, each in value.items()}
    return HIDDEN

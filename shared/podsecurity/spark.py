"""Judges the fields of a SparkApplication beside its pod templates. Pure.

Spark and its operator make fields and settings into fields of pods: volumes, accounts, priorities, names. No
rule knows all of them: those that change no pod are listed, and a pod's fields stand in its template, where
every rule judges them. Source: the operator's API, v1beta2, and Spark's "Running on Kubernetes", 3.5.
"""

import re
from typing import Any, Final

from shared import labels
from shared.errors import FieldError
from shared.podsecurity import asked
from shared.podsecurity.pods import Found, Json, mapping
from shared.podsecurity.rules import Rules
from shared.reject_codes import RejectCode

GROUP: Final = "sparkoperator.k8s.io"
ROLES: Final = ("driver", "executor")
MODES: Final = (None, "cluster")
OTHER_MODE: Final = (
    "must be cluster or absent: "
    "else the driver is no pod of the object, and runs where it is submitted"
)
_FIELDS: Final = frozenset(
    {
        "type", "mode", "pythonVersion", "sparkVersion", "image", "imagePullPolicy",
        "imagePullSecrets", "mainClass", "mainApplicationFile", "arguments", "sparkConf",
        "hadoopConf", "deps", "restartPolicy", "timeToLiveSeconds", "memoryOverheadFactor",
        "suspend", *ROLES,
    }
)  # fmt: skip
_ROLE_FIELDS: Final = frozenset(
    {
        "cores", "coreRequest", "coreLimit", "memory", "memoryOverhead", "gpu", "image",
        "instances", "template", "labels", "annotations", "serviceAccount", "javaOptions",
    }
)  # fmt: skip
# spark-submit reads NAME=VALUE: another character could end the name early.
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_FORBIDDEN: Final = ("spark.kubernetes.", "spark.submit.", "spark.master")
_HARMLESS: Final = frozenset(
    {
        "spark.kubernetes.executor.eventProcessingInterval",
        "spark.kubernetes.executor.missingPodDetectDelta",
        "spark.kubernetes.pyspark.pythonVersion",
    }
)
_VARIABLES: Final = tuple(
    f"spark.{of}.{name}"
    for of in ("executorEnv", "driverEnv", "appMasterEnv")
    for name in labels.FENCE
)
_OPTIONS: Final = "JavaOptions"
_QUOTES: Final = re.compile(r"[\"'\\]")


def check(spec: Json, at: str, namespace: str, rules: Rules, found: Found) -> None:
    """Add every field of a SparkApplication's `spec` at `at` that no rule for pods could judge."""
    for name in _others(spec, _FIELDS):
        text = (
            "the operator makes pods or other objects of it that no rule judges: write what pods need into "
            f"{at}.driver.template and {at}.executor.template, else leave it out"
        )
        _forbid(f"{at}.{name[:80]}", text, found)
    if spec.get("mode") not in MODES:
        found.append(FieldError(f"{at}.mode", RejectCode.INVALID_VALUE, OTHER_MODE))
    main = spec.get("mainApplicationFile")
    if str(main or "").startswith("-") or (spec.get("arguments") and not main):
        text = "name the application's file: spark-submit would read arguments as its own options"
        _forbid(f"{at}.mainApplicationFile", text, found)
    for name, value in mapping(spec.get("sparkConf")).items():
        _check_setting(name, value, f"{at}.sparkConf[{name[:80]}]", found)
    for role in ROLES:
        _check_role(mapping(spec.get(role)), f"{at}.{role}", namespace, rules, found)


def _check_role(said: Json, at: str, namespace: str, rules: Rules, found: Found) -> None:
    for name in _others(said, _ROLE_FIELDS):
        _forbid(f"{at}.{name[:80]}", f"write it into {at}.template, which Spark merges", found)
    if said.get("serviceAccount"):
        asked.check({"serviceAccount": said["serviceAccount"]}, namespace, rules, at, found)
    _check_options(said.get("javaOptions"), f"{at}.javaOptions", found)
    template = said.get("template")
    if template is not None and not mapping(mapping(template).get("spec")).get("containers"):
        text = "a pod template has containers: name Spark's, without an image"
        where = f"{at}.template.spec.containers"
        found.append(FieldError(where, RejectCode.INVALID_VALUE, text))


def changes_pods(name: str) -> bool:
    """Tell if a setting of `sparkConf` may change the pods, or where they run."""
    return (name.startswith(_FORBIDDEN) and name not in _HARMLESS) or name in _VARIABLES


def _check_setting(name: str, value: Any, field: str, found: Found) -> None:
    if not _NAME.fullmatch(name):
        _forbid(field, "is no name of a setting", found)
    elif changes_pods(name):
        text = (
            "changes the pods, or where they run, past every rule: say it in the fields of driver and "
            "executor, or in their templates"
        )
        _forbid(field, text, found)
    elif name.endswith(_OPTIONS):
        _check_options(value, field, found)


def _check_options(value: Any, field: str, found: Found) -> None:
    if "-Dspark." in _QUOTES.sub("", str(value or "")):
        _forbid(field, "settings of Spark stand in sparkConf: leave -Dspark.… out", found)


def _others(said: Json, known: frozenset[str]) -> list[str]:
    """Fields that are not known; an empty one sets nothing."""
    return sorted(name for name in said.keys() - known if said[name])


def _forbid(field: str, text: str, found: Found) -> None:
    found.append(FieldError(field, RejectCode.FORBIDDEN_FIELD, text))

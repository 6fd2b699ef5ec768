"""Validation of the data of a ConfigMap or Secret, and of the times of a CronJob.

Parts of ValidateConfigMap and ValidateSecret (pkg/apis/core/validation) and of validateCronJobSpec.
"""

from collections.abc import Iterable
from typing import Any, Final

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.strategies import Object

# Keys that Secrets of some types must have (pkg/apis/core/validation, ValidateSecret).
_KEYS_OF_TYPE: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def typed_key_faults(secret: Object) -> list[Cause]:
    """Keys that a Secret of its type must have."""
    data = secret.get("data") or {}
    wanted = _KEYS_OF_TYPE.get(str(secret.get("type")), ())
    return [errors.required(f"data[{key}]") for key in wanted if key not in data]


def data_key_faults(obj: Object) -> list[Cause]:
    """Keys that are no file names, and keys that both maps have."""
    causes = [
        errors.bad_value(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in (obj.get("data") or {}).keys() & (obj.get("binaryData") or {}).keys()
    ]
    for field in ("data", "binaryData"):
        for key in obj.get(field) or ():
            if len(key) > 253 or not key or not all(c.isalnum() or c in "-_." for c in key):
                why = (
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
                    " (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is"
                    " '[-._a-zA-Z0-9]+')"
                )
                causes.append(errors.bad_value(f"{field}[{key}]", key, why))
            elif key == "." or key.startswith(".."):
                why = f"must not be '{key}'" if key in (".", "..") else "must not start with '..'"
                causes.append(errors.bad_value(f"{field}[{key}]", key, why))
    return causes


def immutable_data_faults(new: Object, old: Object, always: tuple[str, ...]) -> list[Cause]:
    """Changes of what never changes; `always`: fields that never do in any object."""
    causes = data_key_faults(new)
    for field in always:
        if new.get(field) != old.get(field):
            causes.append(errors.bad_value(field, new.get(field), "field is immutable"))
    if old.get("immutable"):
        for field in ("data", "binaryData"):
            if new.get(field) != old.get(field):
                why = "field is immutable when `immutable` is set"
                causes.append(errors.forbidden_field(field, why))
    return causes


def cron_faults(spec: dict[str, Any]) -> Iterable[Cause]:
    """A schedule has five fields or is a word after @; limits are not negative."""
    schedule = spec.get("schedule") or ""
    text = schedule.split(" ", 1)[1] if schedule.startswith(("TZ=", "CRON_TZ=")) else schedule
    fields = text.split()
    if schedule and not text.startswith("@") and len(fields) != 5:
        found = " ".join(fields)
        why = f"expected exactly 5 fields, found {len(fields)}: [{found}]"
        yield errors.bad_value("spec.schedule", schedule, why)
    for name in (
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ):
        value = spec.get(name)
        if value is not None and value < 0:
            why = "must be greater than or equal to 0"
            yield errors.bad_value(f"spec.{name}", value, why)

"""An object as its work's rule writes it: held, and running; and what a rule must not write. Pure.

The hub sends the manifest and, beside it, the values of `held`, `run` and `scale`. They are one object in the
member: an agent that judged the manifest alone would write what it never saw.
"""

from typing import Any

from agent.objects.field_values import written
from agent.objects.holds import JOB
from shared import podsecurity
from shared.errors import FieldError
from shared.wire.agent_v1 import Work
from shared.wire.kind_rules import KindRule

Object = dict[str, Any]


def forms_of(work: Work) -> list[Object]:
    """The manifest; and with a rule, the object as it is created, and as it is after the start."""
    manifest, rule = work.manifest, rule_of(work)
    if manifest is None:
        return []
    if rule is None:
        return [manifest]
    made = [manifest]
    held = written(manifest, rule.held)
    for form in (held, written(held, rule.run)):
        if form not in made:  # most run as their manifest says
            made.append(form)
    return made


def rule_of(work: Work) -> KindRule | None:
    """The rule by which the agent writes fields of the work's object; None: of a Job."""
    return None if (work.api_version, work.kind) == JOB else work.kind_rule


def rule_faults(work: Work) -> list[FieldError]:
    """List the fields that the rule of a work writes and may not write."""
    rule = rule_of(work)
    if rule is None or work.manifest is None:
        return []
    writes = ((each.path, each.value) for each in (*rule.held, *rule.run))
    return podsecurity.check_writes(work.manifest, rule.templates, writes)

"""What of an object stays in the caches. Pure."""

from agent.objects.facts import Object, fence_of


def whole(obj: Object, _previous: Object | None) -> Object:
    """All of it."""
    return obj


def slim_job(job: Object, _previous: Object | None) -> Object:
    """A Job without its pod template, and without managed fields unless they say who suspends it.

    Of the template only stays what says whose Job it is.
    """
    spec = job.get("spec") or {}
    fence = fence_of(job)
    spec.pop("template", None)
    if fence:
        spec["template"] = {"spec": {"containers": [{"env": fence}]}}
    if not spec.get("suspend"):
        job["metadata"].pop("managedFields", None)
    return job

"""What the methods of a client about priority and stopped queues ask, and give."""

from typing import Any

from roadstead.models.jobs import WholeJob
from roadstead.models.objects import KubernetesObject
from roadstead.models.queues import ClusterQueue, LocalQueue, QueuePreview

QUEUES: list[tuple[str, tuple[Any, ...], dict[str, Any], str, Any, Any]] = [
    (
        "set_priority",
        ("u", "urgent"),
        {},
        "POST /v1/jobs/u/priority",
        {"priorityClass": "urgent"},
        WholeJob,
    ),
    ("stop_queue", ("q",), {}, "POST /v1/queues/q/stop", {"drain": False}, ClusterQueue),
    (
        "stop_queue",
        ("n/q",),
        {"drain": True},
        "POST /v1/queues/n/q/stop",
        {"drain": True},
        LocalQueue,
    ),
    (
        "preview_stop",
        ("n/q",),
        {"drain": True},
        "POST /v1/queues/n/q/stop?dryRun=true",
        {"drain": True},
        QueuePreview,
    ),
    ("preview_resume", ("q",), {}, "POST /v1/queues/q/resume?dryRun=true", None, QueuePreview),
    (
        "cron_jobs",
        (),
        {"namespace": "n"},
        "GET /v1/cronjobs?namespace=n&limit=500",
        None,
        [KubernetesObject],
    ),
    (
        "suspend_cron_job",
        ("n/c",),
        {},
        "POST /v1/cronjobs/n/c/suspend",
        None,
        KubernetesObject,
    ),
    ("resume_cron_job", ("n/c",), {}, "POST /v1/cronjobs/n/c/resume", None, KubernetesObject),
    ("resume_queue", ("q",), {}, "POST /v1/queues/q/resume", None, ClusterQueue),
    ("resume_queue", ("n/q",), {}, "POST /v1/queues/n/q/resume", None, LocalQueue),
]

"""Calls of a client about logs and pods: a part of the table of `client_calls`."""

from typing import Any

from roadstead.models.pods import JobPods, LogRecord

LOGS: list[tuple[str, tuple[Any, ...], dict[str, Any], str, Any, Any]] = [
    ("job_pods", ("u",), {}, "GET /v1/jobs/u/pods", None, JobPods),
    ("logs", ("u",), {}, "GET /v1/jobs/u/logs", None, [LogRecord]),
    (
        "logs",
        ("u",),
        {
            "follow": True,
            "pod": "p",
            "container": "c",
            "previous": True,
            "since_s": 60,
            "tail": 0,
            "timestamps": True,
            "after": {"p/c": "2026-01-01T00:00:00Z"},
        },
        (
            "GET /v1/jobs/u/logs?follow=true&previous=true&timestamps=true&pod=p&container=c&since=60"
            "&tail=0&after=p%2Fc%3D2026-01-01T00%3A00%3A00Z"
        ),
        None,
        [LogRecord],
    ),
]

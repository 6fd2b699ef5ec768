"""Logging for every process: structured events to standard error, secrets left out.

`configure` is called once by a composition root; modules take `structlog.get_logger()`. Their events and
those of loggers of the standard library (uvicorn, SQLAlchemy) go through one handler, in one form.
"""

import functools
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO

import structlog

Format = Literal["text", "json"]

HIDDEN: Final = "[hidden]"
_SECRET_KEY: Final = re.compile(
    r"(?i)(password|passwd|secret|token|credential|authorization|cookie|api[-_]?key|private[-_]?key"
    r"|kubeconfig|client[-_]?key)"
)
_PLAIN_KEY: Final = re.compile(r"(?i)(_name|_id|_count|_kind|_s|_at)$")
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_CONTENT_KEYS: Final = frozenset({"manifest", "body", "env", "data", "stringData", "binaryData"})

_LEVELS: Final = ("debug", "info", "warning", "error")
_CHATTY: Final = ("httpx", "httpcore", "uvicorn.access")

Event = MutableMapping[str, Any]


def configure(level: str = "info", fmt: Format = "text", stream: TextIO | None = None) -> None:
    """Set up logging: `text` is key=value for people and grep, `json` one object a line.

    A closed stream or a full disk stops no work, and is not reported.
    """
    out = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if fmt == "json" else _line
    )
    events = logging.getLogger("roadstead")
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
        logger_factory=lambda *_: events,
        cache_logger_on_first_use=False,
    )
    sink = logging.StreamHandler(out)
    sink.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [sink]
    root.setLevel(_number(level))
    logging.raiseExceptions = False  # else the handler writes a traceback for each such line
    for chatty in _CHATTY:  # a line per request is no news
        logging.getLogger(chatty).setLevel(max(_number(level), logging.WARNING))


_LOGFMT: Final = structlog.processors.LogfmtRenderer(
    key_order=["timestamp", "level", "event"], bool_as_flag=False
)


def _line(logger: Any, method: str, event: Event) -> str:
    """One line of text, in which control and formatting characters of others are written as escapes.

    It ends up on terminals: texts of members and requests neither steer them nor begin a line.
    """
    line = _LOGFMT(logger, method, event)
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def level_of(environ: Mapping[str, str], default: str = "info") -> str:
    """ROADSTEAD_LOG_LEVEL, in any case; `default` where it is not set. Raises ValueError naming it."""
    return _one_of(environ, "ROADSTEAD_LOG_LEVEL", _LEVELS, default)


def format_of(environ: Mapping[str, str]) -> Format:
    """ROADSTEAD_LOG_FORMAT, `text` where it is not set. Raises ValueError naming it."""
    found = _one_of(environ, "ROADSTEAD_LOG_FORMAT", ("text", "json"), "text")
    return "json" if found == "json" else "text"


def _one_of(environ: Mapping[str, str], name: str, allowed: tuple[str, ...], default: str) -> str:
    given = environ.get(name) or default
    if given.lower() not in allowed:
        raise ValueError(f"{name}={given}: expected one of {', '.join(allowed)}")
    return given.lower()


def redact(logger: object, method: str, event: Event) -> Event:
    """Hide what looks like a secret: values under such keys, contents of objects, bearer tokens."""
    for key, value in event.items():
        event[key] = _redacted(key, value)
    return event


def _redacted(key: str, value: Any) -> Any:
    if is_secret_key(key) or key in _CONTENT_KEYS:
        return HIDDEN if value not in (None, "") else value
    if isinstance(value, dict):
        return {k: _redacted(str(k), v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted("", item) for item in value]
    if isinstance(value, str):
        return _BEARER.sub(rf"\1 {HIDDEN}", value) if _may_hold_bearer(value) else value
    return value


def _may_hold_bearer(text: str) -> bool:
    """Cheaper than the pattern by far, which most texts do not need."""
    folded = text.casefold()
    return "bearer" in folded or "basic" in folded


@functools.lru_cache(maxsize=1024)  # the keys of a program's own lines are few
def is_secret_key(key: str) -> bool:
    """True if values under this key must be hidden; `token_id` and `secret_name` are not."""
    return _SECRET_KEY.search(key) is not None and _PLAIN_KEY.search(key) is None


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]

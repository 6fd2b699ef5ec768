"""Live requests to an agent for logs, pods and the contents of namespaces: `/agent/v1/streams`.

The agent polls for questions (a request hangs until there is one), and uploads its findings in numbered
parts, each in a separate request. The hub takes them in order, each once: a part that is sent
again is known by its number, and one that there is no room for yet is not taken, and is sent again later.
Nothing of this touches what is reported of jobs (`shared.wire.agent_v1`).
"""

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from shared.wire.agent_v1 import Message, Whole

STREAMS_PATH: Final = "/agent/v1/streams"
FAILED_PATH: Final = (
    "/agent/v1/streams/failed"  # no id of a stream is such a word: an older hub says 404
)

# agent: questions that it answers besides those about pods, separated by commas; empty: an older agent
ANSWERS_HEADER: Final = "Roadstead-Answers"
OF_PODS: Final = frozenset({"logs", "pods", "last"})
NAMESPACE: Final = "namespace"
POLL_S: Final = 45.0  # how long a poll hangs without a question
BEAT_S: Final = 1.5  # interval at which an agent without lines reports that it is alive
MOST_PART_BYTES: Final = 64 << 10  # of the lines of one part
MOST_LINES: Final = 2000  # of one part
MOST_PODS: Final = 200  # of one job, reported or read at a time
MOST_CONTAINERS: Final = 40  # of a pod
MOST_EVENTS: Final = 100
MOST_INSIDE: Final = 5  # objects of a namespace that are named
MOST_FAILED: Final = 5  # pods with reported last lines
MOST_FAILED_TOLD: Final = 20  # … of all jobs, in one request
LAST_LINES: Final = 20
LAST_BYTES: Final = 4 << 10
LINE_BYTES: Final = 16 << 10  # of a line; what is longer is cut, and marked as such

Text = Annotated[str, Field(max_length=2048)]
Name = Annotated[str, Field(max_length=253)]
Number = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class StreamMessage(Message):
    """A message in which no value is taken for one of another type."""

    model_config = ConfigDict(strict=True)


class StreamRequest(Message):
    """The question about the pods of one job. `what`: their logs, how they are, or the last lines of those
    that failed, with how they did (`MOST_FAILED` pods, `LAST_LINES` of each, `LAST_BYTES` in all of each).
    Or what is inside a namespace (`uid`: of the work; `namespace` and `name` name it).
    """

    id: str
    what: Literal["logs", "pods", "last", "namespace"]
    uid: str  # of the job or the namespace's work
    namespace: str
    name: str
    pod: str = ""  # "": all of them
    container: str = ""
    follow: bool = False
    previous: bool = False  # of the run before the last restart
    since_s: int | None = None
    tail: int | None = None  # the last lines of each container
    # The position at which an interrupted log resumes: by POD/CONTAINER the instant of the last line that
    # was read. The
    # log is sent from that second on, whatever `since_s` and `tail` say; the reader knows what it has read.
    after: dict[str, str] = Field(default_factory=dict)


class StreamRequests(Message):
    """The answer to an agent that asks what is wanted."""

    requests: list[StreamRequest]


class LogLine(StreamMessage):
    """One line of one container; `cut`: it is longer. A `note` is the agent's, on why there are no lines."""

    pod: Name
    container: Name
    line: Annotated[str, Field(max_length=LINE_BYTES)]  # no character is less than a byte
    at: Annotated[str, Field(max_length=40)] = ""  # RFC 3339, as the kubelet wrote it
    cut: bool = False
    note: bool = False


class ContainerTold(StreamMessage):
    """One container of a pod. `state`: waiting, running or terminated; "" where it is not known."""

    name: Name
    init: bool = False
    state: Annotated[str, Field(max_length=32)] = ""
    reason: Text = ""
    message: Text = ""
    exit_code: Number | None = None
    restarts: Number = 0
    ready: bool = False
    started_at: Annotated[str, Field(max_length=40)] = ""
    finished_at: Annotated[str, Field(max_length=40)] = ""
    last_reason: Text = ""  # of the run before: why it ended
    last_exit_code: Number | None = None


class PodTold(StreamMessage):
    """One pod of a job. `reason`: why it does not run, or how it ended, as one word."""

    name: Name
    uid: Annotated[str, Field(max_length=128)] = ""
    epoch: Whole = 0
    node: Name = ""
    phase: Annotated[str, Field(max_length=32)] = ""
    reason: Text = ""
    message: Text = ""
    created_at: Annotated[str, Field(max_length=40)] = ""
    started_at: Annotated[str, Field(max_length=40)] = ""
    finished_at: Annotated[str, Field(max_length=40)] = ""
    containers: list[ContainerTold] = Field(default_factory=list, max_length=MOST_CONTAINERS)


class EventTold(StreamMessage):
    """One event of the member, of a job or of one of its pods (`about`: Job/NAME, Pod/NAME)."""

    at: Annotated[str, Field(max_length=40)] = ""
    type: Annotated[str, Field(max_length=32)] = ""
    reason: Text = ""
    message: Text = ""
    about: Text = ""
    count: Number = 1


class NamespaceTold(StreamMessage):
    """Objects that hold a namespace: those of the hub, and others. `unread`: why the agent cannot tell."""

    ours: Number = 0
    others: Number = 0
    named: list[Text] = Field(default_factory=list, max_length=MOST_INSIDE)  # Kind/name of others
    unread: Text = ""


class StreamEnd(StreamMessage):
    """The reason for the end. The code is `Ended` if the log is complete."""

    code: Annotated[str, Field(max_length=64)]
    message: Text = ""


class StreamPart(StreamMessage):
    """A part of the answer, numbered from 1; an empty one reports that the agent is alive."""

    seq: int = Field(ge=1)
    lines: list[LogLine] = Field(default_factory=list, max_length=MOST_LINES)
    pods: list[PodTold] = Field(default_factory=list, max_length=MOST_PODS)
    left_out: Number = 0  # pods that are not listed, because there are too many
    events: list[EventTold] = Field(default_factory=list, max_length=MOST_EVENTS)
    unread: Text = ""  # why events can not be read
    namespace: NamespaceTold | None = None
    # The next part comes within this; 0: an older agent, which does not say.
    beat_s: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 0.0
    end: StreamEnd | None = None


class StreamTaken(Message):
    """Up to which part all was taken; a part after it is to be sent again."""

    seq: int


class FailedPod(StreamMessage):
    """A pod that has failed just now, and its last lines; told at once, for it may be removed soon."""

    job: Annotated[str, Field(max_length=128)]  # its uid
    namespace: Name
    pod: PodTold
    lines: list[LogLine] = Field(default_factory=list, max_length=LAST_LINES)


class FailedPods(StreamMessage):
    """Pods that have failed, to be kept with their jobs. Told again they are known by their names."""

    items: list[FailedPod] = Field(max_length=MOST_FAILED_TOLD)


class FailedPodsKept(Message):
    """The number of new ones."""

    kept: int

"""Every label, annotation and finalizer key that Roadstead writes or reads, in one place."""

PREFIX = "roadstead.dev/"

# Reserved labels on what Roadstead applies in a member cluster (docs/reference/labels.md).
MANAGED_BY = "roadstead.dev/managed-by"
JOB_UID = "roadstead.dev/job-uid"
EPOCH = "roadstead.dev/epoch"
# Written once, on CREATE, on every object but a Job: the agent of this hub created it and may delete it.
CREATED_BY = "roadstead.dev/created-by"
RESERVED_LABELS = frozenset({MANAGED_BY, JOB_UID, EPOCH, CREATED_BY})
# Those of them that are written on the pod templates of Jobs, too.
OF_PODS = frozenset({MANAGED_BY, JOB_UID, EPOCH})
# On a member's Namespace, or on a cluster-scoped object: its administrator lets this hub take over what is
# there. Never written by hub or agent.
ACCEPT = "roadstead.dev/accept"
ACCEPT_TOKENS = "roadstead.dev/accept-tokens"
CONSENT = frozenset({ACCEPT, ACCEPT_TOKENS})
# The same in the environment of each container, first, where nobody can edit it.
JOB_UID_VARIABLE = "ROADSTEAD_JOB_UID"
EPOCH_VARIABLE = "ROADSTEAD_EPOCH"
FENCE = frozenset({JOB_UID_VARIABLE, EPOCH_VARIABLE})

# Annotations on what Roadstead applies.
GENERATION = "roadstead.dev/generation"
INCARNATION = "roadstead.dev/incarnation"
SPEC_HASH = "roadstead.dev/spec-hash"
PLACED_BY = "roadstead.dev/placed-by"
# On a Namespace, written once, on CREATE: the id of the hub's namespace that the agent created it for.
NAMESPACE_ID = "roadstead.dev/namespace-id"

# Annotations that users may set: the complete list. Any other key with the prefix is refused.
USER_ANNOTATIONS = frozenset(
    PREFIX + name
    for name in (
        "per-object",
        "ignore-drift",
        "on-cluster-loss",
        "clusters",
        "cluster-selector",
        "after",
        "retry",
        "retry-on",
        "rerun",
        "expected-runtime",
    )
)

# On the Jobs of a CronJob whose schedule the hub keeps: its name.
CRON_JOB = "roadstead.dev/cron-job"
# On the same: the scheduled time, as Kubernetes writes it.
CRON_JOB_TIME = "batch.kubernetes.io/cronjob-scheduled-timestamp"
HUB_ANNOTATIONS = frozenset(
    {CRON_JOB, CRON_JOB_TIME}
)  # that the hub writes into manifests of jobs
PER_OBJECT = "roadstead.dev/per-object"
AFTER = "roadstead.dev/after"
RETRY = "roadstead.dev/retry"
RETRY_ON = "roadstead.dev/retry-on"

# On nodes: their autoscaled pool, and how many nodes it may have.
NODE_POOL = "roadstead.dev/pool"
NODE_POOL_MAX = "roadstead.dev/pool-max-nodes"

FINALIZER = "roadstead.dev/hub"
# On Jobs in members: taken away once the hub has the Job's end, so that no result goes with its object.
MEMBER_FINALIZER = "roadstead.dev/result"
# On a Job in a member that is not started yet: it is created suspended, and started by its uid.
NOT_STARTED = "roadstead.dev/not-started"
# … and in a queue that no member has: a queue manager gives Jobs without a queue its default one.
NO_QUEUE = "roadstead-not-started"
# On a Job that the agent takes back from a queue of the member: its namespace no longer accepts the hub.
CONSENT_WITHDRAWN = "roadstead.dev/consent-withdrawn"
# What the hub had committed when it gave the work: tells when a hub's store went back (wire, Mark).
MARK = "roadstead.dev/mark"
JOB_CONTROLLER = "roadstead.dev/hub"  # spec.managedBy of Jobs on the hub cluster
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
# Annotation of Jobs on the hub cluster: who created them, by its policies (deploy/hub-cluster).
SUBMITTED_BY = "roadstead.dev/submitted-by"
HUB_CLUSTER_ANNOTATIONS = USER_ANNOTATIONS | {SUBMITTED_BY}

# On mirrors: objects of the hub cluster that show what came by REST, and that the hub alone keeps. The label
# says so; annotations name the row by its uid, and say which version of it was written (SPEC_HASH).
ORIGIN = "roadstead.dev/origin"
MIRROR_OF = "roadstead.dev/mirror-of"
# On what the hub asks of the hub cluster by dry run alone: the policy that guards mirrors refuses it.
ASKS = "roadstead.dev/asks"
# On a row of REST that is being handed over to the hub cluster.
HAND_OVER = "roadstead.dev/hand-over"
# On the row of a held Workload: who wrote its spec, judged then for the priority number in it.
PRIORITY_FROM = "roadstead.dev/priority-from"
# On Namespaces of the hub cluster, `true` or `false`: are REST's Jobs shown there?
SHOW_JOBS = "roadstead.dev/show-jobs"

KUEUE_PREFIX = "kueue.x-k8s.io/"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MANAGED_NAMESPACE = "kueue.x-k8s.io/managed-namespace"  # "true" of a Namespace: all its Jobs
MAX_EXEC_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
# KubeRay writes them into its pods, as priorityClassName and schedulerName.
RAY_PRIORITY_CLASS = "ray.io/priority-class-name"
RAY_SCHEDULER = "ray.io/scheduler-name"

FIELD_MANAGER = "roadstead"
BRIDGE_FIELD_MANAGER = "roadstead-bridge"

# What the simulated cluster's pods obey.
SIM_RUN_SECONDS = "sim.roadstead.dev/run-seconds"
SIM_EXIT_CODE = "sim.roadstead.dev/exit-code"
SIM_LOG_LINES = "sim.roadstead.dev/log-lines"

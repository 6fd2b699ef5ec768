"""Every method of a client, named once; its module documents it."""

from roadstead.calls import (
    access as access_calls,
    checks as check_calls,
    clusters as cluster_calls,
    hub as hub_calls,
    jobs as job_calls,
    logs as log_calls,
    objects as object_calls,
    placed as placed_calls,
    rollouts as rollout_calls,
    waiting,
    workloads as workload_calls,
)
from roadstead.method import Call, Following, Listing


class Calls:
    """The methods that `Client` runs at once and `AsyncClient` when awaited."""

    submit = Call(job_calls.submit)
    submit_many = Call(job_calls.submit_many)
    submit_iter = Listing(job_calls.submit_iter, at_once=False)
    jobs = Listing(job_calls.jobs)
    job = Call(job_calls.job)
    explain = Call(job_calls.explain)
    job_events = Call(job_calls.job_events)
    logs = Following(log_calls.logs)
    job_pods = Call(log_calls.job_pods)
    cancel = Call(job_calls.cancel)
    hold = Call(job_calls.hold)
    release = Call(job_calls.release)
    set_priority = Call(job_calls.set_priority)
    delete_job = Call(job_calls.delete_job)
    wait = Call(waiting.wait)
    wait_all = Call(waiting.wait_all)

    checks = Listing(check_calls.checks)
    set_check = Call(check_calls.set_check)
    serve_check = Call(check_calls.serve_check)

    apply = Call(object_calls.apply)
    plan = Call(object_calls.plan)
    objects = Listing(object_calls.objects)
    kinds = Call(object_calls.kinds)
    find = Call(object_calls.find)
    delete_object = Call(object_calls.delete_object)
    hand_over = Call(object_calls.hand_over)
    placements = Listing(object_calls.placements)
    placement = Call(object_calls.placement)
    rebalance = Call(object_calls.rebalance)
    render = Call(object_calls.render)
    revisions = Call(placed_calls.revisions)
    roll_back = Call(placed_calls.roll_back)
    release_rollback = Call(placed_calls.release_rollback)
    bindings = Listing(placed_calls.bindings)
    works = Listing(placed_calls.works)
    evict = Call(object_calls.evict)
    drift = Listing(object_calls.drift)
    settle_drift = Call(object_calls.settle_drift)

    rollouts = Call(rollout_calls.rollouts)
    rollout = Call(rollout_calls.rollout)
    approve_rollout = Call(rollout_calls.approve_rollout)
    stop_rollout = Call(rollout_calls.stop_rollout)
    resume_rollout = Call(rollout_calls.resume_rollout)
    roll_back_run = Call(rollout_calls.roll_back_run)

    queues = Call(workload_calls.queues)
    queue = Call(workload_calls.queue)
    local_queue = Call(workload_calls.local_queue)
    stop_queue = Call(workload_calls.stop_queue)
    resume_queue = Call(workload_calls.resume_queue)
    cron_jobs = Listing(workload_calls.cron_jobs)
    suspend_cron_job = Call(workload_calls.suspend_cron_job)
    resume_cron_job = Call(workload_calls.resume_cron_job)
    preview_stop = Call(workload_calls.preview_stop)
    preview_resume = Call(workload_calls.preview_resume)
    pending = Call(workload_calls.pending)
    workloads = Listing(workload_calls.workloads)
    workload = Call(workload_calls.workload)
    watch_workloads = Following(workload_calls.watch_workloads)
    delete_workload = Call(workload_calls.delete_workload)
    report_workload = Call(workload_calls.report_workload)

    clusters = Call(cluster_calls.clusters)
    cluster = Call(cluster_calls.cluster)
    cluster_namespaces = Call(cluster_calls.namespaces)
    add_cluster = Call(cluster_calls.add_cluster)
    join_token = Call(cluster_calls.join_token)
    cordon = Call(cluster_calls.cordon)
    preview_cordon = Call(cluster_calls.preview_cordon)
    remove_cluster = Call(cluster_calls.remove_cluster)
    drain = Call(cluster_calls.drain)
    fence = Call(cluster_calls.fence)

    overview = Call(hub_calls.overview)
    events = Call(hub_calls.events)
    changes = Following(hub_calls.changes)
    tokens = Call(hub_calls.tokens)
    issue_token = Call(hub_calls.issue_token)
    revoke_token = Call(hub_calls.revoke_token)
    ways_in = Call(access_calls.ways_in)
    whoami = Call(access_calls.whoami)
    can_i = Call(access_calls.can_i)
    role_bindings = Call(access_calls.role_bindings)
    bind_role = Call(access_calls.bind_role)
    unbind_role = Call(access_calls.unbind_role)
    audit = Listing(access_calls.audit)
    hub_cluster = Call(hub_calls.hub_cluster)
    resume_hub_cluster = Call(hub_calls.resume_hub_cluster)
    restored = Call(hub_calls.restored)
    accept_restored = Call(hub_calls.accept_restored)
    adopt_leftover = Call(hub_calls.adopt_leftover)
    forget_leftover = Call(hub_calls.forget_leftover)
    decide_left_objects = Call(hub_calls.decide_left_objects)
    availability_rules = Call(hub_calls.availability_rules)
    declare_availability = Call(hub_calls.declare_availability)
    kind_versions = Call(hub_calls.kind_versions)
    check_kinds = Call(hub_calls.check_kinds)
    retention = Call(hub_calls.retention)
    run_retention = Call(hub_calls.run_retention)

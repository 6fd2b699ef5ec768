"""The pictures on a job's page: its course, the funnel of clusters, scores, quota; and its head."""

import datetime as dt

import pytest

from hub.domain.workloads.course import Happening, Now, course_of
from hub.web.job_page import head
from hub.web.job_page.course import picture_of
from hub.web.job_page.happened import visible
from hub.web.job_page.outlook import outlook_of
from hub.web.job_page.quota import quota_bars
from hub.web.job_page.texts import commands_of, manifest_text
from hub.web.job_page.why import standing_of
from hub.web.job_view import score_words
from hub.web.words import lasting, path_of

BEGAN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
NOW = BEGAN + dt.timedelta(minutes=10)


def at(seconds):
    return BEGAN + dt.timedelta(seconds=seconds)


PREEMPTED = [
    Happening(at(1), "Placed", "placed on north, epoch 1", "north"),
    Happening(at(2), "Started", "runs in north"),
    Happening(at(300), "EvictedDueToPreempted", "preempted for team-a/urgent"),
    Happening(at(302), "Requeued", "waits again"),
]


def a_record(**fields):
    return {
        "uid": "u1", "namespace": "team-a", "name": "one", "kind": "Job", "origin": "rest",
        "owner": "ana", "queue": "lq", "clusterQueue": "cq", "cluster": "", "state": "Pending",
        "priority": 0, "priorityClass": "", "completions": 2, "parallelism": 2,
        "counts": {"active": 0, "ready": 0, "succeeded": 0, "failed": 0},
        "createdAt": BEGAN.isoformat(), "startedAt": None, "finishedAt": None, "evicted": None,
        "admission": None, "podSets": [{"name": "main", "count": 2, "requests": {"cpu": 1500}}],
        **fields,
    }  # fmt: skip


def a_course(state="Pending", events=(), ended=None):
    return course_of(Now(state, BEGAN, ended), events)


def head_of(record, told=None, events=(), ended=None):
    said = {"reason": "", "message": "", "nomination": None, **(told or {})}
    return head.head_of(record, said, a_course(record["state"], events, ended), NOW)


def test_a_preempted_job_says_that_it_waits_again_and_why():
    """Since it was let go, with who took its place; nothing says that it started (A10)."""
    evicted = {"reason": "Preempted", "message": "for team-a/urgent", "at": at(300).isoformat()}
    found = head_of(a_record(evicted=evicted, startedAt=at(2).isoformat()), events=PREEMPTED)
    assert (found.lasts, found.since.age) == ("waits again for", "4m")
    assert (found.back, found.back_at.age) == ("Preempted: for team-a/urgent", "5m")
    assert "Started" not in {fact.label for fact in found.facts}


def test_a_running_job_says_more_than_that_it_runs():
    """The state stands above: no sentence repeats it (B10)."""
    record = a_record(state="Running", cluster="north", startedAt=at(2).isoformat())
    found = head_of(record, {"message": "runs"}, PREEMPTED[:2])
    assert (found.message, found.lasts) == ("", "for")
    links = {fact.label: fact.href for fact in found.facts if fact.href}
    assert links == {"Queue": "/queues/cq", "Cluster": "/clusters/north"}


def test_jobs_of_its_chain_are_links():
    """As the record lists them; what is no list is not shown."""
    link = {"name": "prepare", "uid": "u2", "condition": "ok", "state": "Waiting"}
    after = [{**link, "jobState": "Running"}, {**link, "uid": "", "state": "NeverSatisfied"}, 7]
    found = head_of(a_record(after=after, before="odd"))
    assert [(each.name, each.href, each.condition, each.state) for each in found.after] == [
        ("prepare", "/jobs/u2", "ok", "Running"),
        ("prepare", "", "ok: never", ""),
    ]
    assert found.before == ()


def test_what_a_silent_cluster_means_is_told():
    """What can become of the job, and what may run besides."""
    earlier = {"epoch": 1, "cluster": "north", "overlapped": False, "clusterHeardAt": "12:00"}
    found = outlook_of({"clusterLoss": {"choices": ["it waits"]}, "earlierEpochs": [earlier]})
    assert found.lost == ("it waits",)
    assert found.elsewhere == ("epoch 1 may still run in north, which was heard last at 12:00",)


def test_names_in_addresses_stay_names():
    """No name leads anywhere else."""
    assert path_of("queues", "a/../b?c#d") == "/queues/a%2F..%2Fb%3Fc%23d"


def test_the_course_fills_the_picture():
    """Segments follow each other without a gap; the short ones can be seen; it is told in words too."""
    picture = picture_of(a_course(events=PREEMPTED), NOW, "Pending", cut=False)
    drawn = [(each.x, each.width) for each in picture.segments]
    assert drawn[0][0] == 0
    assert sum(width for _, width in drawn) == pytest.approx(1000, abs=1)
    assert min(width for _, width in drawn) >= 6
    assert picture.told == (
        "waiting 1 s, then placing 1 s, then running 4 min 58 s, then taken back 2 s, "
        "then waiting again 4m so far"
    )
    assert (picture.attempts[0].ran, picture.attempts[0].ended) == ("5 min", "Preempted")


def test_a_long_history_is_bounded():
    """The newest phases and attempts are shown, the others are counted."""
    events = []
    for turn in range(100):
        events += [
            Happening(at(4 * turn + 1), "Placed", "placed on north, epoch 1", "north"),
            Happening(at(4 * turn + 2), "EvictedDueToPreempted", "again"),
            Happening(at(4 * turn + 3), "Requeued", ""),
        ]
    picture = picture_of(a_course(events=events), NOW, "Pending", cut=True)
    assert (len(picture.segments), len(picture.attempts)) == (40, 40)
    assert (picture.earlier_attempts, picture.cut) == (60, True)
    assert picture.attempts[-1].number == 100


def fits(name, score=10, **more):
    terms = [{"name": "wait", "weight": 10, "score": score, "value": None}]
    return {"cluster": name, "score": score, "terms": terms, "message": f"score {score}", **more}


def out(name, rule, reason=""):
    return {
        "cluster": name,
        "rule": rule,
        "reason": reason,
        "message": f"{rule} {name}",
        "score": 0,
    }


def test_the_funnel_counts_a_thousand_clusters_and_lists_twenty():
    """Each rule in its turn, whatever is counted and not listed."""
    refused = [out("x", "Eligible"), out("y", "Fits", "InsufficientRoom")]
    survey = {
        "clusters": [*(fits(f"c{n}") for n in range(20)), *refused],
        "others": 80,
        "refused": [
            {"rule": "Eligible", "reason": "", "count": 400},
            {"rule": "Fits", "reason": "NoNodesMatch", "count": 300},
            {"rule": "Fits", "reason": "InsufficientRoom", "count": 150},
            {"rule": "Novel", "reason": "", "count": 50},
        ],
    }  # fmt: skip
    found = standing_of(a_record(), {"survey": survey})
    left = {step.label: step.left for step in found.funnel.steps}
    assert left == {
        "all clusters": 1000,
        "joined, heard and healthy": 600,
        "not cordoned, not set aside": 600,
        "named, selected, by affinity": 600,
        "serves its kind, taints tolerated": 600,
        "has nodes of its flavors": 300,
        "has the room now": 150,
        "by other rules": 100,
    }
    assert (len(found.candidates), found.more_candidates) == (20, 80)
    assert (len(found.refused), found.more_refused) == (2, 898)
    assert found.funnel.chosen_words == "would be picked first"


def test_refused_clusters_that_are_not_listed_are_counted():
    """Twenty are listed of twenty-five, though the decision has all of their verdicts."""
    survey = {"clusters": [out(f"c{n}", "Eligible") for n in range(25)]}
    found = standing_of(a_record(), {"survey": survey})
    assert (len(found.refused), found.more_refused) == (20, 5)


def test_a_decision_shows_who_was_chosen_by_which_score():
    """Bars by rule; what lost by how much."""
    decision = {"clusters": [fits("a", 40, selected=True), fits("b", 10), out("c", "Uncordoned")]}
    found = standing_of(a_record(cluster="a", state="Running"), {"decision": decision})
    assert (found.funnel.chosen, found.funnel.chosen_words) == ("a", "chosen")
    assert [(each.cluster, each.parts[0].width) for each in found.candidates] == [
        ("a", 1000.0),
        ("b", 250.0),
    ]
    assert found.legend == ("wait",)


def test_nothing_decided_is_no_picture():
    """A job that nobody has looked at has neither funnel nor scores."""
    found = standing_of(a_record(), {})
    assert (found.funnel, found.candidates, found.refused) == (None, (), ())


QUOTA = {
    "flavor": "any", "resource": "cpu", "nominal": "8", "used": "6", "borrowed": "0",
    "available": "2", "potential": "12",
}  # fmt: skip


def test_quota_shows_what_is_asked_beside_what_is_used():
    """Three of two that are left: it is short, and the bar has all of it."""
    (bar,) = quota_bars(a_record(), [QUOTA, {**QUOTA, "resource": "memory"}])
    assert (bar.asked, bar.short, bar.holds) == ("3", True, False)
    assert bar.others + bar.own <= 1000
    assert bar.mark == pytest.approx(1000 * 8 / 12, abs=1)


def test_what_just_fits_is_not_short():
    """Two of two that are left: it is not quota that it waits for."""
    pod_sets = [{"name": "main", "count": 2, "requests": {"cpu": 1000}}]
    (bar,) = quota_bars(a_record(podSets=pod_sets), [QUOTA])
    assert (bar.asked, bar.short) == ("2", False)


def test_what_a_job_holds_is_part_of_what_is_used():
    """It is not counted twice, and is short of nothing."""
    admission = {"podSets": [{"name": "main", "flavors": {"cpu": "any"}, "usage": {"cpu": 3000}}]}
    (bar,) = quota_bars(a_record(admission=admission), [QUOTA])
    assert (bar.holds, bar.short, bar.own) == (True, False, bar.others)
    assert quota_bars(a_record(admission=admission, finishedAt="2026"), [QUOTA]) == ()


def test_unlimited_quota_is_told_and_not_drawn():
    """There is nothing to be a share of."""
    unlimited = {**QUOTA, "nominal": None, "available": None, "potential": None}
    (bar,) = quota_bars(a_record(), [unlimited])
    assert (bar.drawn, bar.nominal, bar.short) == (False, "unlimited", False)


def test_commands_can_be_pasted():
    """Names are quoted for a shell; what can not be done any more is not offered."""
    texts = [each.text for each in commands_of(a_record(name="a;rm -rf x", state="Failed"))]
    assert texts[0] == "roadstead jobs show 'team-a/a;rm -rf x'"
    assert not any("cancel" in each for each in texts)


def test_a_manifest_is_yaml_that_steers_nothing():
    """Controls are written as escapes; one that is not kept is nothing."""
    assert manifest_text({"a": "\x1b[31m\u202e"}) == 'a: "\\e[31m\\u202E"\n'
    assert manifest_text(None) == ""


def test_lines_of_a_log_are_shown_as_the_command_line_shows_them():
    """Escape, line feed and characters that turn text around are written out."""
    assert visible("ok\tred\x1b[31m \u202eevil\x7f") == "ok\tred^[[31m \\u202eevil^?"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (0.42, "0.4 s"), (59, "59 s"), (61, "1 min 1 s"), (7200, "2 h"), (90_061, "1 d 1 h")],
)  # fmt: skip
def test_spans_have_two_units_at_most(seconds, said):
    """As people say them."""
    assert lasting(seconds) == said


def test_the_queue_of_a_job_that_waits_leads_to_its_page():
    """Where no ClusterQueue is known yet, to that of the LocalQueue it was submitted to."""
    found = head_of(a_record(namespace="team-a", queue="main", clusterQueue=""))
    queue = next(fact for fact in found.facts if fact.label == "Queue")
    assert (queue.text, queue.href) == ("main", "/queues/team-a/main")


def test_a_long_bar_is_much_of_what_the_legend_names():
    """The score of a cluster that is nearly empty is high: what it shows is free, not in use."""
    assert score_words("in-use-after") == "left free after it is placed"
    assert score_words("available-cpu") == "available cpu"

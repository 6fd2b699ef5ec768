"""Wait times as Prometheus gets them: per queue buckets, sum and count, over several feedings."""

from hub.services.works.counters import WaitTimes


def test_wait_times_are_counted_by_queue_and_by_the_bucket_they_fall_into() -> None:
    """A time of exactly a bound is within it; one beyond all is in the last; sums go on."""
    waits = WaitTimes("a_wait_seconds", "told")
    waits.observe("gold", [0.1, 0.11, 10_240.0])
    waits.observe("lead", [1.0])
    waits.observe("gold", [10_241.0, 0.0])
    waits.observe("none", [])
    (family,) = waits.collect()
    found: dict[str, dict[str, float]] = {}
    for sample in family.samples:
        own = found.setdefault(sample.labels["cluster_queue"], {})
        own[sample.name.removeprefix("a_wait_seconds_") + sample.labels.get("le", "")] = (
            sample.value
        )
    gold = found["gold"]
    bounds = ("0.1", "0.25", "5120.0", "10240.0", "+Inf")
    assert [gold[f"bucket{bound}"] for bound in bounds] == [2, 3, 3, 4, 5]
    assert (gold["count"], gold["sum"]) == (5, 20_481.21)
    assert (found["lead"]["count"], found["lead"]["sum"]) == (1, 1.0)
    assert [found["lead"][f"bucket{bound}"] for bound in ("0.5", "1.0")] == [0, 1]
    assert (found["none"]["count"], found["none"]["sum"]) == (0, 0)

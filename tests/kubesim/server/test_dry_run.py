"""dryRun=All: everything is checked and shown, nothing is kept."""

from tests.kubesim.server.build import a_config_map, a_job


def test_a_dry_create_keeps_nothing(kube):
    """The reply is the object as it would be; it is not there afterwards."""
    made = kube.create("jobs", a_job(), dryRun="All")
    assert made["spec"]["backoffLimit"] == 6
    assert not kube.exists("jobs", "work")


def test_a_dry_create_is_validated(kube):
    """What would be refused is refused."""
    kube.refused("jobs", a_job(parallelism=-1), 422, dryRun="All")


def test_a_dry_patch_keeps_nothing(kube):
    """A patched object is shown, the kept one is as it was."""
    kube.create("configmaps", a_config_map(data={"a": "1"}))
    shown = kube.patch("configmaps", "settings", {"data": {"a": "2"}}, dryRun="All").json()
    assert shown["data"] == {"a": "2"}
    assert kube.get("configmaps", "settings")["data"] == {"a": "1"}


def test_a_dry_apply_keeps_nothing(kube):
    """Server-side apply can be tried."""
    applied = kube.apply("configmaps", a_config_map(), "one", dryRun="All")
    assert applied.status_code == 201
    assert not kube.exists("configmaps", "settings")


def test_a_dry_delete_keeps_the_object(kube):
    """Nothing is deleted."""
    kube.create("configmaps", a_config_map())
    assert kube.delete("configmaps", "settings", dryRun="All").status_code == 200
    assert kube.exists("configmaps", "settings")


def test_an_unknown_dry_run_is_refused(kube):
    """All is the only value."""
    reply = kube.http.post(kube.url("configmaps", dryRun="Some"), json=a_config_map())
    assert reply.status_code in (400, 422)

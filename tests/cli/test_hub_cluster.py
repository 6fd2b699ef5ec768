"""The bridge to the hub cluster, from the command line."""


def test_a_hub_without_hub_cluster_says_so(hub):
    """Nothing is connected; lifting a stop that does not exist is refused with its code."""
    assert hub.run("hub-cluster", "show").lines == ["The hub has no hub cluster."]
    refused = hub.run("hub-cluster", "resume", "AbsentWithoutDeletion")
    assert refused.code == 3

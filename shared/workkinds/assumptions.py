"""Assumptions about a kind where its definition is silent, for `roadstead kinds check`. Pure."""

from collections.abc import Iterator

from shared.workkinds.definition import HUB, Component, Definition


def assumptions_of(definition: Definition) -> Iterator[str]:
    """One sentence each; none where everything is said."""
    karta = definition.karta
    if definition.extension is None:
        yield (
            "no extension: it is a job; pod sets are named after components and instances, stand in document "
            "order and start together; no fewer pods will do; the whole status is copied back"
        )
    if not karta.suspend and not definition.extended.holding:
        yield f"no suspendDefinition: it waits on the {HUB}, and is applied nowhere until it may run"
    if not karta.status.mappings:
        yield "no statusMappings: its state is always unknown, and its quota is kept until it is deleted"
    if definition.extended.plugin:
        return
    owners = {each.owner for each in karta.components}
    for component in karta.components:
        yield from _of(component, is_owner=component.name in owners)


def _of(component: Component, *, is_owner: bool) -> Iterator[str]:
    name = component.name
    if not component.has_pods:
        if not is_owner and (component.instance_id or component.replicas):
            yield f"{name} says nothing of its pods: an object that has one is refused"
        return
    if not component.scaled:
        yield f"{name} has no scaleDefinition: one pod for each of its pod specs"
    elif not component.replicas and component.min_replicas:
        yield f"{name} has no replicasPath: its count is what minReplicasPath gives"
    elif not component.replicas:
        yield f"{name} has a scaleDefinition without a count: an object that has one is refused"
    if component.fragments:
        yield f"{name} is put together from fragments: init containers and overhead are not known"

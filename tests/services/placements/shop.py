"""A Job and its Namespace, and a placement of that Namespace, as people write them."""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: one, namespace: shop}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox}]
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""


def placement_of_the_namespace(scope: str = "NamespaceWithResources") -> str:
    """A PickFixed placement of Namespace shop on m2, with all that is in it or without."""
    return f"""
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: shop}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: shop, selectionScope: {scope}}}]
  policy: {{placementType: PickFixed, clusterNames: [m2]}}
"""

"""A custom kind, and an object of it."""

THING = {
    "apiVersion": "example.org/v1",
    "kind": "Thing",
    "metadata": {"name": "one", "namespace": "team"},
    "spec": {"size": 1},
}
THINGS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {
            "plural": "things",
            "singular": "thing",
            "kind": "Thing",
            "listKind": "ThingList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}

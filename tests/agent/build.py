"""Objects other than Jobs, edited in the member, and the drift that is told of them."""


def a_config_map(name="settings", namespace="team", **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data or {"colour": "red"},
    }


def a_deployment(replicas=1, cpu="500m"):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "nginx:1.27",
                            "ports": [{"containerPort": 80}],
                            "resources": {"requests": {"cpu": cpu, "memory": "0.5Gi"}},
                        }
                    ]
                },
            },
        },
    }


def a_namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def edit(member, kind, name, patch, api_version="v1", manager="kubectl-edit"):
    return await member.kube.merge_patch(
        api_version, kind, "team", name, patch, field_manager=manager
    )


def drifts_of(hub, uid):
    return [drift for entry in hub.told if entry.uid == uid for drift in entry.drift]

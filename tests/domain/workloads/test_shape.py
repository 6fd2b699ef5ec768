"""A shape is the pod sets and nothing else."""

from hub.domain.workloads.shape import decode, encode, shape_hash
from shared.resources import job_pod_sets

JOB = {
    "spec": {
        "parallelism": 3,
        "completions": 5,
        "template": {
            "spec": {
                "nodeSelector": {"b": "2", "a": "1"},
                "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "zone", "operator": "In", "values": ["x", "y"]}
                                    ]
                                }
                            ]
                        }
                    }
                },
                "containers": [
                    {"name": "c", "resources": {"requests": {"memory": "1Gi", "cpu": "250m"}}}
                ],
            }
        },
    }
}


def test_what_is_written_is_read_back():
    """Pod sets survive the table they are kept in."""
    pod_sets = job_pod_sets(JOB)
    assert decode(encode(pod_sets)) == pod_sets


def test_equal_jobs_have_one_shape():
    """Names and images do not matter; requests do."""
    other = {"metadata": {"name": "x"}, **JOB}
    assert shape_hash(job_pod_sets(JOB)) == shape_hash(job_pod_sets(other))
    smaller = {"spec": {**JOB["spec"], "parallelism": 2}}
    assert shape_hash(job_pod_sets(JOB)) != shape_hash(job_pod_sets(smaller))

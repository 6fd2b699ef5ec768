"""The hub cluster: what is applied there with kubectl reaches the hub here, and its state goes back.

`mirror` turns objects into the same intake as REST, `deletion` takes back what is deleted, `writeback`
brings statuses up to date (`job_status`, `object_status`: pure), `events` writes Events, `condition`
knows whether this is still the hub cluster that the hub belongs to, `crds` installs our definitions,
and `bridge` puts them together (docs/howto/real-hub-cluster.md).
"""

"""Consent of members' namespaces: which the hub asks about, and which workloads it constrains."""

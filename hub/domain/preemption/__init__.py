"""Preemption victims: by priority, by fair share, and to free room on a cluster."""

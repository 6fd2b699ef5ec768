"""The member-cluster side: pulls what the cluster should hold, applies it, reports what it sees."""

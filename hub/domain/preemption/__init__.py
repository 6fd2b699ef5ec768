"""Who may be made to go: victims by priority, by fair share, and to make room on a cluster."""

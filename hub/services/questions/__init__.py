"""Everything else that is read: jobs, queues, clusters, the dashboard, gauges, positions."""

"""Data of the pages of queues and clusters, and previews of actions."""

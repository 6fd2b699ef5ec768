"""Placements whose versions staged update runs give: the runs, their approvals, and what they do."""

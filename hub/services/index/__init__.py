"""The leader's copy of committed rows in memory."""

"""The leader's copy of committed rows in memory: who waits, what is charged, what members have."""

"""Rows that wait, as the index takes them in: all of them at a start, then one by one."""

"""Answers of executors and check controllers."""

"""What executors and check controllers answer."""

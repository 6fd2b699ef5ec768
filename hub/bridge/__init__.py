"""Hub-cluster objects to the same intake as REST, and status back: list, watch, diff; never trusts a partial list."""

"""What the bridge to the hub cluster asks and tells."""

"""Works of members: compose, offer, withdraw, evict."""

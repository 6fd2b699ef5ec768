"""What members are given and how it is taken back: compose, offer, withdraw, evict."""

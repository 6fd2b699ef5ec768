"""One scheduling cycle: a snapshot in, a plan out."""

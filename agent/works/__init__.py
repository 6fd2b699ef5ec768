"""State of each work: desired, observed, to be reported, and the right to start it."""

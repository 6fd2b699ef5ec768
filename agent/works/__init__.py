"""What is remembered of each work: desired, seen in the member, to be reported, and who may start it."""

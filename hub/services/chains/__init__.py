"""Jobs that wait for other jobs: bound when they are accepted, let go when those have ended."""

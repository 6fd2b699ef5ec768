"""One turn of the scheduler, written down: decide, commit, reserve, settle, preempt."""

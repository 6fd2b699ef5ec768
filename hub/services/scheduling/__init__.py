"""One turn of the scheduler, written down."""

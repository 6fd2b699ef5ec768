"""The page of one job: where it is and why, what happened to it, its pods and logs."""

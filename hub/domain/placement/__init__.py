"""Choice of a cluster: filters, scores, picks, and the reasons for rejecting the others."""

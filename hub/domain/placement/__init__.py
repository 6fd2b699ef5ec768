"""Which cluster: filters, scores, picks, and why the others were not taken."""

"""Who is next: lanes of equal workloads, pending ones, and how the refused come back."""

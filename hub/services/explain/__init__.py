"""Why a job waits, and what would change it."""

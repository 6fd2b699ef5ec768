"""Live requests to members: logs and pods of jobs. Kept in memory alone."""

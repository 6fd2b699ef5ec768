"""What is asked of members while somebody waits for it: logs and pods of jobs. Kept in memory alone."""

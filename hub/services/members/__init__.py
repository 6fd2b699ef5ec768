"""What agents say, and what their silence means."""

"""What agents say, judged and written down; and what their silence means."""

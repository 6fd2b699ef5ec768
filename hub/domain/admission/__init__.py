"""What one head could get."""

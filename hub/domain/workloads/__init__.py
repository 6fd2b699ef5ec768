"""What is asked for, and its states."""

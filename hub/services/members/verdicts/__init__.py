"""What an entry of a report means for its work, in parts."""

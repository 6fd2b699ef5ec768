"""What members are given, and how it is taken back."""

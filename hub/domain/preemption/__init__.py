"""Who may be made to go."""

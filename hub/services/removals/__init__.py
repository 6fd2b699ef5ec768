"""What removals do in members: listed before they happen."""

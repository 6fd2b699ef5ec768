"""What is asked for: shapes, demands, states and transitions, admission checks, placement policies."""

"""What to do next about one work: rules without input or output."""

"""The next step for one work: rules without input or output."""

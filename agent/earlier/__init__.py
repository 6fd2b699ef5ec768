"""What an earlier hub left in a member: listed, adopted or drained by the member's people."""

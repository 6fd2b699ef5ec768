"""Lists, adopts or drains objects that an earlier hub left in a member."""

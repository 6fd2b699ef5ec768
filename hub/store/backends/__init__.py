"""The databases that a hub may keep its data in, each behind one small protocol."""

"""What one head could get: flavors, partial admission, nomination, and the order of heads."""

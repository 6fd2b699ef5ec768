"""What every part agrees on: kinds, metadata, selectors, refusals, columns."""

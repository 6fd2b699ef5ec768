"""Objects as the server keeps them: their life, their history, their bytes."""

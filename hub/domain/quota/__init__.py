"""What is declared, charged and held."""

"""What every use case is handed."""

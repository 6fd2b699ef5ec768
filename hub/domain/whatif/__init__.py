"""The cycle asked about other pictures: remedies, trials, forecasts."""

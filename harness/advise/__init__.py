"""Which test may be trusted on one's own predictions: its size and power there, and a recommendation."""

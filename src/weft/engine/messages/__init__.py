"""What enters and leaves the engine: facts in, orders and events out."""

"""What the engine decides when a fact arrives."""

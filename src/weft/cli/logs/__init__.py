"""`weft logs`: pages of output and the activities of agents."""

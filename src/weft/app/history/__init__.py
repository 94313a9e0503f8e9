"""Earlier runs of a plan: what they completed, how far they got, and what they spent."""

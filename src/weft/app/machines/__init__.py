"""What is known of the other machines of a plan before a run."""

"""What an agent may say about a tree of parts."""

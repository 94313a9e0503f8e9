"""What pages and programs can ask about a run beyond its snapshot."""

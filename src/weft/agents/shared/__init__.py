"""What the adapters of several agent programs share."""

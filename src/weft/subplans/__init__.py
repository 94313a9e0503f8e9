"""The dispatcher for async work in Python: subplans, their net, and the drivers that run them."""

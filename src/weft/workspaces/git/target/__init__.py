"""The target branch and the remote that it is pushed to."""

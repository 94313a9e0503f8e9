"""Output of `weft simulate`, and of the forecast in `weft status`."""

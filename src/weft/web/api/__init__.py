"""The JSON API of `weft ui`."""

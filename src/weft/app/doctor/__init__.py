"""The checks of `weft doctor`, one module for each area, and their fixes."""

"""`weft doctor`: what may be wrong with a project, one module for each area, and how it is mended."""

"""`weft clean`: remove what plans left behind, once it is proven to have landed."""

"""What `weft decompose` is worth on published packages, and what it takes on very many files."""

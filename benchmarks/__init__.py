"""How fast, how large: `make bench` for each on its own, `make compare` for us beside others."""

"""`weft top`: a run on the whole terminal, on Textual. Only that command imports this room."""

"""Which file refers to which: what is written in files, and what it means."""

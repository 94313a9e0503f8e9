"""The journal in a file of SQLite."""

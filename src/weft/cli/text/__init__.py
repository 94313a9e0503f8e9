"""The text and JSON that commands print."""

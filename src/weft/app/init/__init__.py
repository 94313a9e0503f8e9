"""`weft init`: survey a project and write its first plan and configuration."""

"""Checkouts on disk: their registrations, their commits, and how their branches move."""

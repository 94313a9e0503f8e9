"""Notifications: which events become notices, and the channels that deliver them."""

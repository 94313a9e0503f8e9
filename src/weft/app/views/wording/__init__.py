"""Phrases for times, money, failures and places that all views share."""

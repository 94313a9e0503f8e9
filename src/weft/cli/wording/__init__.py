"""The words for times, money, failures and places that every view shares."""

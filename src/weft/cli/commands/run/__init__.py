"""Commands that run plans and steer runs."""

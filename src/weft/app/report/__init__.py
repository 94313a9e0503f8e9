"""The contents of reports: a run, or the forecast of a plan, with all that the page shows of it."""

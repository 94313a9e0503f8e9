"""`weft ui`: runs in the browser, and the reports that are made of the same page."""

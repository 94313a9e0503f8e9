"""`weft ui` and HTML reports: the JSON API over the read model, and the page that uses it."""

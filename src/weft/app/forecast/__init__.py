"""`weft simulate`: the forecast of a plan, from its estimates and the project's history."""

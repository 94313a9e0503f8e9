"""The mind of a run of a plan: facts go in, orders and events come out. Pure, and the same for every driver."""

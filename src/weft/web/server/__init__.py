"""HTTP: who may ask, what is asked for, and how answers are sent."""

"""How results get onto the target: the landing queue, its verifies, and the push after a landing."""

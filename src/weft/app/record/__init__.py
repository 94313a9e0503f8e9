"""A recorded run: its journal, its plan, its steps and the files that they wrote."""

"""Any server of the Agent Client Protocol: a coding agent that speaks JSON-RPC with an editor, which here is Weft.

A process of ours, one for each step, starts the server and talks with it over standard input and output.
`client` is what is said, and knows nothing of processes; `messages` is how it is written; `server` is the process
of the server, and `__main__` our own. `permissions`, `choices`, `said`, `spent` and `ends` read what it says.
"""

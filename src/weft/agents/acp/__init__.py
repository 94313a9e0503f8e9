"""Agents that are servers of the Agent Client Protocol: they speak JSON-RPC with an editor. Weft plays its part.

For each step, Weft starts a client process, which starts the server and talks to it over standard input and
output.
`client` is the conversation as a state machine without I/O; `messages` encodes and decodes; `server` owns the
server's process; `__main__` is the client process. `permissions`, `choices`, `last_message`, `usage` and
`outcomes` interpret messages.
"""

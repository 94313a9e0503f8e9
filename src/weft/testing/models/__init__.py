"""A scripted model: a server on loopback that speaks the protocols of model providers.

Real agents can be tested with it, without a key or a network: their requests are recorded, and the answers are
known in advance. `script` describes the answers, `server` the server.
"""

"""A false supervisor: `impostor.py DOES DIRECTORY …`. It greets, and exits at the first request.

Or it names another process in its greeting (`lies`), or does not answer (`stays`).
"""

import fcntl
import os
import socket
import sys
from pathlib import Path

from weft.hosts.supervisor.log import encode, start_time

does, directory = sys.argv[1], Path(sys.argv[2])
fcntl.flock(os.open(directory / "lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)  # until it is really gone
(directory / "socket").unlink(missing_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(str(directory / "socket"))
listener.listen()
if os.fork():
    os._exit(0)
connection, _ = listener.accept()
started = start_time(os.getpid()) + (does == "lies")
connection.sendall(f"{encode({'hello': os.getpid(), 'started': started})}\n".encode())
connection.recv(100)
if does == "stays":
    (directory / "asked").touch()
    connection.recv(100)

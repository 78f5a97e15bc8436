"""A threaded HTTP server for WSGI applications, on a socket that the parent has bound already."""

from __future__ import annotations

import logging
import socket
import socketserver
import sys
import threading
from typing import Any
from wsgiref import simple_server

from senlin_affinity.sandbox.wsgi import Application

LOG = logging.getLogger(__name__)


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True

    def adopt(self, listener: socket.socket) -> None:
        """Take a listening socket, without asking the DNS for a name of it."""
        self.socket.close()
        self.socket = listener
        self.server_address = listener.getsockname()
        self.server_name, self.server_port = listener.getsockname()
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log it: a client that went away is nothing to print about."""
        LOG.info('a request was not answered: %s', sys.exc_info()[1])


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log at debug level only: the services log their own requests."""
        LOG.debug(format, *args)


def serve(listener: socket.socket, application: Application) -> None:
    """Serve an application from daemon threads, for as long as the process lives."""
    server = _Server(listener.getsockname(), _Handler, bind_and_activate=False)
    server.adopt(listener)
    server.set_app(application)
    threading.Thread(target=server.serve_forever, daemon=True, name='sandbox-http').start()

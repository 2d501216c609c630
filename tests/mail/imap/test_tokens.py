"""Logging in with an OAuth 2 token (XOAUTH2), which Dovecot verifies with a service on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import done, refused
from tests.mail.imap.dovecot import Dovecot
from tests.mail.imap.test_sort import spam
from tests.requirements import require

TOKEN = "token-of-ann"


class TokenService(BaseHTTPRequestHandler):
    """Says whose token it is."""

    def do_GET(self) -> None:
        known = self.path.endswith(TOKEN)
        answer = json.dumps({"email": "user1", "active": True} if known else {"error": "invalid"}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@pytest.fixture
def server() -> Iterator[Dovecot]:
    require("imap")
    service = ThreadingHTTPServer(("127.0.0.1", 0), TokenService)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    started = Dovecot(tokens=f"http://127.0.0.1:{service.server_port}/?token=")
    yield started
    started.remove()
    service.shutdown()
    service.server_close()


def test_a_token_logs_in_and_is_not_shown(server: Dovecot, mine: Path) -> None:
    user = server.new_user()
    user.deliver(spam(1))
    words = ("mail", "sort", user.address(), "--filter", mine, "--ca-file", server.certificate, "--token-command")
    assert "1 moved" in done(*words, f"echo {TOKEN}").out
    sentence = refused(*words, "echo another-token", code=3)
    assert "refused the login" in sentence
    assert "another-token" not in sentence

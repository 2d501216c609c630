"""Logging in with an OAuth 2 token (XOAUTH2), which Dovecot verifies with a service on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import done, refused
from tests.mail.imap.dovecot import Dovecot
from tests.mail.imap.test_sort import spam
from tests.mail.imap.test_watch import SHORT, wait_for
from tests.requirements import require

TOKEN, NEXT_TOKEN = "token-of-ann", "next-token-of-ann"


class TokenService(BaseHTTPRequestHandler):
    """Says whose token it is."""

    valid = TOKEN

    def do_GET(self) -> None:
        known = self.path.endswith(f"={TokenService.valid}")
        answer = json.dumps({"email": "user1", "active": True} if known else {"error": "invalid"}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dovecot]:
    require("imap")
    monkeypatch.setattr(TokenService, "valid", TOKEN)
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


def test_a_token_that_has_expired_is_replaced_when_a_watch_connects_again(
    server: Dovecot, mine: Path, tmp_path: Path
) -> None:
    user, token = server.new_user(), tmp_path / "token"
    user.deliver(spam(1))
    token.write_text(TOKEN)
    words = ["mail", "sort", user.address(), "--watch", "--filter", str(mine), "--ca-file", str(server.certificate)]
    command = [sys.executable, "-c", SHORT, *words, "--token-command", f"cat {token}"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        try:
            wait_for(user, "Junk", spam(1))
            TokenService.valid = NEXT_TOKEN
            token.write_text(NEXT_TOKEN)
            server.stop()
            server.start()
            user.deliver(spam(2))
            wait_for(user, "Junk", spam(1), spam(2))
        finally:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert TOKEN not in out + err

"""Servers that do not encrypt, or answer with something else: the password is not sent, and the error names a cure."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.cli.command import refused

PASSWORD = "hunter2"


class ScriptedServer:
    """A server that sends a greeting, and an answer to each command that contains a word; the last ends it."""

    def __init__(self, greeting: bytes, answers: dict[bytes, bytes]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received = b""
        self._thread = threading.Thread(target=self._serve, args=(greeting, answers), daemon=True)
        self._thread.start()

    def _serve(self, greeting: bytes, answers: dict[bytes, bytes]) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(greeting)
            for line in lines:
                self.received += line
                tag = line.split()[0]
                answer = next((answer for word, answer in answers.items() if word in line), b"TAG BAD unknown\r\n")
                connection.sendall(answer.replace(b"TAG", tag))
                if len(answers) > 1 and answer == [*answers.values()][-1]:
                    break

    def close(self) -> None:
        """Wait for the end of the connection."""
        self._thread.join(timeout=20)
        self._listener.close()


def capabilities(words: bytes) -> dict[bytes, bytes]:
    return {b"CAPABILITY": b"* CAPABILITY IMAP4rev1 " + words + b"\r\nTAG OK done\r\n"}


@pytest.mark.parametrize(
    ("greeting", "answers", "why"),
    [
        (b"* OK hello\r\n", capabilities(b""), "does not encrypt by STARTTLS"),
        (b"* OK hello\r\n", {**capabilities(b"STARTTLS"), b"STARTTLS": b"TAG NO later\r\n"}, "write imaps://"),
        # An answer that an attacker sends before the encryption begins is not read after it.
        (
            b"* OK hello\r\n",
            {**capabilities(b"STARTTLS"), b"STARTTLS": b"TAG OK go on\r\n* PREAUTH welcome\r\n"},
            "does not encrypt by STARTTLS",
        ),
        (b"* PREAUTH welcome\r\n", capabilities(b"STARTTLS"), "does not encrypt by STARTTLS"),
        (b"* BYE too many connections\r\n", {}, "127.0.0.1 ended the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", {}, "the connection to 127.0.0.1 failed: unexpected response"),
        (b"* OK " + b"x" * 2_000_000 + b"\r\n", {}, "127.0.0.1 ended the connection"),
    ],
    ids=["no starttls", "starttls refused", "injected answer", "preauth", "bye", "http", "long line"],
)
def test_the_password_is_not_sent_without_encryption(
    mine: Path, greeting: bytes, answers: dict[bytes, bytes], why: str
) -> None:
    server = ScriptedServer(greeting, answers)
    address = f"imap://ann@127.0.0.1:{server.port}/INBOX"
    words = ("mail", "sort", address, "--filter", mine, "--password-command", f"echo {PASSWORD}")
    assert why in refused(*words, code=3)
    server.close()
    assert PASSWORD.encode() not in server.received
    assert b"LOGIN" not in server.received.upper()
    assert b"AUTHENTICATE" not in server.received.upper()


def test_a_port_without_a_server_is_named(mine: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        address = f"imaps://ann@127.0.0.1:{port}/INBOX"
        assert f"refuses connections to port {port}" in refused("mail", "sort", address, "--filter", mine, code=3)

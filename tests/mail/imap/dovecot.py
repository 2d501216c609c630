"""A Dovecot server on loopback with its own settings, certificate and users, and a proxy that cuts connections."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from imapclient import IMAPClient

from tests.mail.recipes.servers import free_port, listens, wait
from tests.requirements import find_program

PASSWORD = "s\u00e9cret"
#: The folder with the attribute \Junk, once a test creates it.
SPECIAL = "Indésirables"
_SETTINGS = """
protocols = imap
listen = 127.0.0.1
base_dir = {place}/run
state_dir = {place}/run
log_path = {place}/dovecot.log
mail_location = maildir:{place}/mail/%u
mail_max_userip_connections = 100
mail_fsync = never
auth_failure_delay = 0
first_valid_uid = 1
ssl = required
ssl_cert = <{place}/cert.pem
ssl_key = <{place}/key.pem
auth_mechanisms = plain
{more}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={place}/home/%u
}}
namespace inbox {{
  inbox = yes
  mailbox {special} {{
    special_use = \\Junk
  }}
  mailbox Trash {{
    special_use = \\Trash
  }}
}}
service imap-login {{
  chroot =
  service_count = 0
  process_min_avail = 1
  inet_listener imap {{
    port = {starttls}
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
"""
#: What a server without an extension advertises; a client must not use what is missing.
CAPABILITIES = "IMAP4rev1 SASL-IR LOGIN-REFERRALS ID ENABLE LITERAL+ SPECIAL-USE NAMESPACE"


class Dovecot:
    """A server whose users all have the password :data:`PASSWORD`.

    Parameters
    ----------
    extensions
        What it advertises beside :data:`CAPABILITIES`; all that it has if None.
    tokens
        Address of a service that verifies OAuth 2 tokens.
    more
        Other settings.
    """

    def __init__(self, extensions: Sequence[str] | None = None, tokens: str | None = None, more: str = "") -> None:
        self.place = Path(tempfile.mkdtemp(prefix="suffice-imap-"))
        self.place.chmod(0o755)  # Dovecot reads it as another user
        self.port, self.starttls_port = free_port(), free_port()
        self._users = 0
        is_root = os.geteuid() == 0
        uid, gid = (65534, 65534) if is_root else (os.getuid(), os.getgid())
        for name in ("mail", "home", "run"):
            (self.place / name).mkdir()
            if is_root and name != "run":
                os.chown(self.place / name, uid, gid)
        if extensions is not None:
            more += f"\nimap_capability = {' '.join([CAPABILITIES, *extensions])}"
        if tokens:
            settings = self.place / "oauth2.conf"
            settings.write_text(f"tokeninfo_url = {tokens}\nusername_attribute = email\n")
            more += "\nauth_mechanisms = plain xoauth2\n"
            more += f"passdb {{\n  driver = oauth2\n  mechanisms = xoauth2\n  args = {settings}\n}}"
        if not is_root:
            me = Path("~").expanduser().owner()
            more += f"\ndefault_internal_user = {me}\ndefault_login_user = {me}"
        self.certificate = make_certificate(self.place)
        text = _SETTINGS.format(
            place=self.place,
            port=self.port,
            starttls=self.starttls_port,
            uid=uid,
            gid=gid,
            more=more,
            special=f'"{SPECIAL}"',
            password=PASSWORD,
        )
        (self.place / "dovecot.conf").write_text(text, encoding="utf-8")
        (self.place / "password").write_text(PASSWORD + "\n", encoding="utf-8")
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        command = [str(find_program("dovecot")), "-F", "-c", str(self.place / "dovecot.conf")]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        wait(lambda: listens(self.port), lambda: (self.place / "dovecot.log").read_text())

    def stop(self) -> None:
        """Stop the server; open connections are cut."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=20)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # processes of open connections would serve them further

    def remove(self) -> None:
        """End the server at once, and delete its mail."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=20)
        shutil.rmtree(self.place)

    def new_user(self) -> User:
        """Return a user without mail."""
        self._users += 1
        return User(self, f"user{self._users}")


class Server(Protocol):
    """A running server."""

    place: Path  # its folder, with the password of all users in the file password
    port: int  # encrypted from the start
    starttls_port: int
    certificate: Path


class User:
    """A user of a server, who reads mail in a client of their own."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name

    def address(self, folder: str = "INBOX", port: int | None = None) -> str:
        """Return the address of a folder."""
        return f"imaps://{self.name}@127.0.0.1:{port or self.server.port}/{folder}"

    @property
    def options(self) -> list[str]:
        """The options that a command needs to connect."""
        command = f"cat {self.server.place / 'password'}"
        return ["--password-command", command, "--ca-file", str(self.server.certificate)]

    @contextmanager
    def client(self) -> Iterator[IMAPClient]:
        """Yield a mail program that is logged in."""
        context = ssl.create_default_context(cafile=str(self.server.certificate))
        client = IMAPClient("127.0.0.1", self.server.port, ssl_context=context, timeout=30)
        client.plain_login(self.name, PASSWORD)
        try:
            yield client
        finally:
            client.logout()

    def deliver(self, *messages: bytes, folder: str = "INBOX", seen: bool = False) -> None:
        """Add messages to a folder, which is created if it is missing."""
        with self.client() as client:
            if not client.folder_exists(folder):
                client.create_folder(folder)
            for message in messages:
                client.append(folder, message.replace(b"\n", b"\r\n"), [rb"\Seen"] if seen else [])

    def texts(self, folder: str = "INBOX", criteria: str = "ALL") -> list[bytes]:
        """Return the messages of a folder, sorted, with the line ends of :func:`tests.mail.samples.message`."""
        with self.client() as client:
            if not client.folder_exists(folder):
                return []
            client.select_folder(folder, readonly=True)
            uids = client.search(criteria)
            found = client.fetch(uids, ["BODY.PEEK[]"]) if uids else {}
            return sorted(_read_text(each) for each in found.values())

    def move(self, message: bytes, source: str, target: str, *, expunge: bool = True) -> None:
        """Move a message as mail programs do; without ``expunge``, it stays in the source, marked as deleted."""
        with self.client() as client:
            if not client.folder_exists(target):
                client.create_folder(target)
            client.select_folder(source)
            found = client.fetch(client.search("UNDELETED"), ["BODY.PEEK[]"])
            (uid,) = [uid for uid, each in found.items() if _read_text(each) == message]
            client.copy([uid], target)
            client.add_flags([uid], [rb"\Deleted"])
            if expunge:
                client.expunge()


def _read_text(fetched: dict[bytes, bytes]) -> bytes:
    """Return the text of a message as it was delivered: mbsync adds a field to messages that it uploads."""
    return re.sub(rb"^X-TUID: .*\n", b"", fetched[b"BODY[]"].replace(b"\r\n", b"\n"), flags=re.MULTILINE)


class CuttingProxy:
    """A proxy that cuts a connection after so many bytes in both directions; None never cuts."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.limit: int | None = None
        self.passed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.passed = 0
                far = socket.create_connection(("127.0.0.1", self._target))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                left = len(data) if self.limit is None else max(0, self.limit - self.passed)
                target.sendall(data[:left])
                self.passed += len(data)
                if left < len(data):
                    break
        for each in (source, target):  # this also ends the other thread, which closes the other socket
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()


def make_certificate(place: Path) -> Path:
    """Write a key and a certificate for this machine, and return the path of the certificate."""
    certificate = place / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += [
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-addext",
        "keyUsage=digitalSignature,keyCertSign",
    ]
    command += ["-keyout", str(place / "key.pem"), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return certificate

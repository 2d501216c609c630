"""A Cyrus IMAP server on loopback with its own settings, certificate and users."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mail.imap.dovecot import PASSWORD, User, make_certificate
from tests.mail.recipes.servers import free_port, listens, wait
from tests.requirements import find_cyrus, find_program

#: The folder with the attribute \Junk, which new users have.
SPECIAL = "Verdächtig"
_SETTINGS = """
configdirectory: {place}/conf
defaultpartition: default
partition-default: {place}/spool
cyrus_user: {user}
admins: admin
servername: localhost
sasl_mech_list: PLAIN
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {place}/sasldb
altnamespace: yes
unixhierarchysep: yes
autocreate_quota: 0
autocreate_post: 1
autocreate_inbox_folders: Verd&AOQ-chtig
xlist-junk: Verd&AOQ-chtig
specialusealways: 0
suppress_capabilities: {suppressed}
tls_server_cert: {place}/cert.pem
tls_server_key: {place}/key.pem
"""
_SERVICES = """
START {{
}}
SERVICES {{
  imaps cmd="{imapd} -s -C {place}/imapd.conf" listen="127.0.0.1:{port}" prefork=1
  imap cmd="{imapd} -C {place}/imapd.conf" listen="127.0.0.1:{starttls}" prefork=0
}}
EVENTS {{
}}
DAEMON {{
  idled cmd="{idled} -C {place}/imapd.conf"
}}
"""


class Cyrus:
    """A server whose users all have the password of the Dovecot servers.

    Parameters
    ----------
    suppressed
        Extensions that it does not advertise.
    """

    def __init__(self, suppressed: Sequence[str] = ()) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="suffice-cyrus-"))
        self.place.chmod(0o755)  # the server reads it as another user
        self.port, self.starttls_port = free_port(), free_port()
        self._users = 0
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.getuid())
        for name in ("conf/socket", "spool"):
            (self.place / name).mkdir(parents=True)
        self.certificate = make_certificate(self.place)
        settings = _SETTINGS.format(
            place=self.place, user=self._owner.pw_name, suppressed=" ".join(suppressed) or "NOTHING"
        )
        (self.place / "imapd.conf").write_text(settings)
        imapd = Path(str(find_cyrus()))
        ports = {"port": self.port, "starttls": self.starttls_port}
        services = _SERVICES.format(place=self.place, imapd=imapd, idled=imapd.with_name("idled"), **ports)
        (self.place / "cyrus.conf").write_text(services)
        (self.place / "password").write_text(PASSWORD + "\n", encoding="utf-8")
        self._add_user("admin")
        for path in (self.place, *self.place.rglob("*")):
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)
        command = ["/usr/lib/cyrus/bin/master", "-D", "-C", str(self.place / "imapd.conf")]
        command += ["-M", str(self.place / "cyrus.conf"), "-p", str(self.place / "master.pid")]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        wait(lambda: listens(self.port), lambda: f"master: {self._process.poll()}")

    def _add_user(self, name: str) -> None:
        command = [
            str(find_program("saslpasswd2")),
            "-p",
            "-c",
            "-f",
            str(self.place / "sasldb"),
            "-u",
            "localhost",
            name,
        ]
        subprocess.run(command, input=PASSWORD.encode(), check=True, timeout=20)

    def new_user(self) -> User:
        """Return a user without mail."""
        self._users += 1
        self._add_user(f"user{self._users}")
        return User(self, f"user{self._users}")

    def remove(self) -> None:
        """End the server at once, and delete its mail."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=20)
        shutil.rmtree(self.place)

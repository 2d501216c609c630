"""Mail on a server: the time to the first judgement, listing a large folder, learning, against Dovecot on loopback.

``python -m benchmarks.imap`` measures and stores the table. It needs Dovecot and openssl; it starts a server.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mail.imap.dovecot import Dovecot, User
from tests.mail.samples import TOPICS, message, stream

from benchmarks.provenance import store
from suffice.mail import MailFilter
from suffice.mail.imap.address import ImapAddress
from suffice.mail.imap.connection import ImapConnection
from suffice.mail.imap.credentials import Credentials
from suffice.mail.imap.folders import ImapFolder

RESULTS = Path(__file__).with_name("imap.md")
DELIVERIES, LEARNED, LISTED = 10, 5_000, 50_000
#: Text that makes messages of 4 kB.
TEXT = b"\n".join(b"the meeting of tomorrow is moved to the garden room %d" % number for number in range(72))
#: Lists a folder, and prints the seconds, the growth of the largest memory in MB, and the number of messages.
LIST = """
import re, sys, time
from pathlib import Path
from benchmarks.imap import open_folder
def memory():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
box = open_folder(*sys.argv[1:])
before = memory()
begun = time.perf_counter()
count = len(box.entries())
print(time.perf_counter() - begun, memory() - before, count)
"""


def open_folder(address: str, password_file: str, certificate: str) -> ImapFolder:
    """Return a folder on the server."""
    connection = ImapConnection(ImapAddress.parse(address), Credentials(f"cat {password_file}"), certificate)
    return ImapFolder(connection, connection.address.folder)


def fill(user: User, folder: str, count: int) -> None:
    """Write messages into a Maildir of the server: many times faster than by IMAP."""
    user.deliver(folder=folder)
    place = user.server.place / "mail" / user.name / f".{folder}"
    owner = (place / "cur").stat()
    for number, (data, _) in enumerate(stream(count, seed=9)):
        name = place / "cur" / f"{number:06}.benchmark,S={len(data + TEXT)}:2,S"
        name.write_bytes(data + TEXT)
        os.chown(name, owner.st_uid, owner.st_gid)


def measure_delivery(user: User, path: Path) -> list[float]:
    """Return the seconds from the delivery of spam until it is in the spam folder, for a watch that is running."""
    words = ["mail", "sort", user.address(), "--watch", "--filter", str(path), *user.options]
    seconds = []
    user.deliver(folder="Junk")
    with subprocess.Popen([sys.executable, "-m", "suffice", *words], stdout=subprocess.PIPE, text=True) as process:
        time.sleep(3)
        for number in range(DELIVERIES):
            begun = time.perf_counter()
            user.deliver(message(number, TOPICS["spam"]))
            assert process.stdout is not None
            process.stdout.readline()
            seconds.append(time.perf_counter() - begun)
            time.sleep(0.5)
        process.terminate()
    return seconds


def main() -> None:
    """Measure, and store the table."""
    server = Dovecot()
    try:
        user = server.new_user()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "mail.db")
            with MailFilter(path) as mail:
                mail.learn_all(stream(1_000))
            delays = measure_delivery(user, path)
            fill(user, "Learned", LEARNED)
            begun = time.perf_counter()
            words = ["mail", "learn", user.address("Learned"), "--ham", "--filter", str(Path(folder, "new.db"))]
            subprocess.run([sys.executable, "-m", "suffice", *words, *user.options], check=True)
            learning = time.perf_counter() - begun
        fill(user, "Listed", LISTED)
        given = [user.address("Listed"), str(server.place / "password"), str(server.certificate)]
        runs = [
            subprocess.run([sys.executable, "-c", LIST, *given], check=True, capture_output=True, text=True).stdout
            for _ in range(2)
        ]
        listing, memory, count = map(float, runs[-1].split())
        assert count == LISTED
    finally:
        server.remove()
    speed = LEARNED / learning
    rows = [
        "| | |",
        "|---|---:|",
        f"| delivery to the report of the move, median of {DELIVERIES} | {statistics.median(delays):.2f} s |",
        f"| the longest of them | {max(delays):.2f} s |",
        f"| learning {LEARNED:,} messages of 4 kB, with the start of the command | {speed:,.0f} messages/s |",
        f"| listing a folder of {LISTED:,} messages, which the server has indexed | {listing:.2f} s |",
        f"| memory that the list takes | {memory:.0f} MB |",
    ]
    store(RESULTS, "\n".join(rows) + "\n")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()

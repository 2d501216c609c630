"""suffice mail sort on a Cyrus server, which marks its spam folder only if it is asked, and separates names by /."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mail.imap.cyrus import SPECIAL, Cyrus
from tests.mail.imap.test_sort import ham, sort, spam, work
from tests.mail.imap.test_watch import wait_for, wait_until_learned, watching
from tests.requirements import require

pytestmark = pytest.mark.needs("cyrus")


@pytest.fixture(scope="module", params=[(), ("MOVE",), ("MOVE", "UIDPLUS")], ids=["move", "no move", "no uidplus"])
def server(request: pytest.FixtureRequest) -> Iterator[Cyrus]:
    require("cyrus")
    started = Cyrus(request.param)
    yield started
    started.remove()


def test_spam_is_moved_learned_and_moved_back(server: Cyrus, mine: Path) -> None:
    user = server.new_user()
    user.deliver(spam(1), spam(2), ham(1), work(1))
    found = sort(user, mine, "--folder", "work", "Büro/Пример")
    assert sorted(each["folder"] for each in found["moved"]) == ["Büro/Пример", SPECIAL, SPECIAL]
    assert user.texts("INBOX", "UNDELETED") == [ham(1)]
    user.move(spam(1), SPECIAL, "INBOX")
    user.move(ham(1), "INBOX", SPECIAL)
    found = sort(user, mine)
    assert sorted(each["class"] for each in found["learned"]) == ["ham", "spam"]
    assert sort(user, mine, "--undo", "LAST")["restored"] == 2
    assert user.texts("INBOX", "UNDELETED") == sorted([spam(1), spam(2), work(1)])
    assert user.texts(SPECIAL, "UNDELETED") == [ham(1)]


def test_mail_is_sorted_as_it_arrives(server: Cyrus, mine: Path) -> None:
    user = server.new_user()
    user.deliver(spam(1), ham(1))
    with watching(user, mine):
        wait_for(user, SPECIAL, spam(1))
        user.deliver(spam(2))
        wait_for(user, SPECIAL, spam(1), spam(2))
        user.move(ham(1), "INBOX", SPECIAL)
        wait_until_learned(mine, ham(1), "spam")

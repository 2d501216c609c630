"""A filter from public corpora judges before anything is learned, and fades as the user's own mail is."""

from __future__ import annotations

import mailbox

import pytest

from suffice.mail import MailError, MailFilter
from suffice.mail.bottom_layer import build_bottom_layer, main
from tests.mail.samples import TOPICS, message, stream


def spam_message(number: object) -> bytes:
    """Return a message of words of spam."""
    return message(number, TOPICS["spam"])


@pytest.fixture
def bottom(tmp_path):
    build_bottom_layer(tmp_path / "bottom.db", stream(600, 9))
    return tmp_path / "bottom.db"


def test_a_new_user_judges_by_the_corpora(tmp_path, bottom):
    with MailFilter(tmp_path / "mine.db", shared=[bottom]) as mine:
        assert mine.classify(spam_message("x")).label == "spam"
        assert mine.classify(message("y", TOPICS["ham"])).label == "ham"


def test_the_corpora_count_as_the_weight(bottom, tmp_path):
    build_bottom_layer(tmp_path / "heavy.db", stream(600, 9), 400)
    for path, weight in ((bottom, 100), (tmp_path / "heavy.db", 400)):
        with MailFilter(path) as mail:
            assert sum(mail.store().state().messages) == pytest.approx(weight)


def test_own_mail_outweighs_the_corpora(tmp_path, bottom):
    """The corpora say that these words are spam; the user says that they are ham."""
    build_bottom_layer(tmp_path / "heavy.db", stream(600, 9), 5000)
    found = []
    for below in (bottom, tmp_path / "heavy.db"):
        with MailFilter(tmp_path / f"above-{below.name}", shared=[below]) as mine:
            before = mine.classify(spam_message("x")).log_odds
            mine.learn_all((spam_message(i), "ham") for i in range(15))
            after = mine.classify(spam_message("x"))
            assert after.log_odds < before - 1
            found.append(after.log_odds)
    assert found[0] < found[1], "the lighter layer fades sooner"


def test_a_message_of_the_corpora_is_forgotten_with_its_weight(bottom):
    with MailFilter(bottom) as mail:
        data, label = stream(600, 9)[0]
        before = mail.store().state().messages[("ham", "spam").index(label)]
        assert mail.forget(data)
        after = mail.store().state().messages[("ham", "spam").index(label)]
        assert before - after == pytest.approx(100 / 600)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), 1e9])
def test_weights_that_are_no_number_of_messages_are_refused(tmp_path, weight):
    with pytest.raises(MailError, match="the weight must be a number of messages"):
        build_bottom_layer(tmp_path / "bottom.db", stream(20), weight)
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_not_replaced(tmp_path):
    (tmp_path / "bottom.db").write_text("mine")
    with pytest.raises(MailError, match="exists: name a new file"):
        build_bottom_layer(tmp_path / "bottom.db", stream(20))
    assert (tmp_path / "bottom.db").read_text() == "mine"


def test_corpora_of_one_class_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(MailError, match="at least two classes"):
        build_bottom_layer(tmp_path / "bottom.db", [(spam_message(1), "spam")])
    assert not list(tmp_path.iterdir())


def test_the_script_reads_mailboxes(tmp_path, capsys):
    for label in ("spam", "ham"):
        box = mailbox.mbox(tmp_path / f"{label}.mbox")
        for i in range(30):
            box.add(message(f"{label}{i}", TOPICS[label]))
        box.close()
    paths = [str(tmp_path / name) for name in ("bottom.db", "spam.mbox", "ham.mbox")]
    main([paths[0], "--spam", paths[1], "--ham", paths[2], "--weight", "60"])
    assert "learned 30 spam, 30 ham; they count as 60 messages" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="exists: name a new file"):
        main([paths[0], "--spam", paths[1], "--ham", paths[2]])
    with pytest.raises(SystemExit, match="nothing"):
        main([str(tmp_path / "other.db"), "--spam", str(tmp_path / "nothing.mbox"), "--ham", paths[2]])
    assert not (tmp_path / "other.db").exists()

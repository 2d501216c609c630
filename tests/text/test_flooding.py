"""Words that were made to collide cost no more than other words."""

from __future__ import annotations

from itertools import islice

import numpy as np

from suffice import _native

M, S = (1 << 64) - 1, 0xD6E8FEB86659FD93
START, BY_SIZE, STEP = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB


def unmixed(h: int) -> int:
    """Return the number that the hash's last mixing turns into h."""
    inverse = pow(S, -1, 1 << 64)
    for _ in range(2):
        h = (h ^ h >> 32) * inverse & M
    return h ^ h >> 32


def word_of(h: int) -> bytes:
    """Return the eight bytes whose hash is h."""
    return (unmixed(h) ^ START ^ 8 * BY_SIZE & M).to_bytes(8, "little")


def long_word_of(head: bytes, h: int) -> bytes:
    """Return the sixteen bytes that begin with these eight and whose hash is h."""
    state = (START ^ 16 * BY_SIZE & M ^ int.from_bytes(head, "little")) * STEP & M
    return head + (unmixed(h) ^ state ^ state >> 29).to_bytes(8, "little")


def vocabulary(words: list[bytes]) -> _native.text.Words:
    return _native.text.words(b"".join(words), np.cumsum([len(word) for word in words]))


def test_words_are_found_quickly_whatever_bits_of_their_hashes_are_alike():
    for shift in (0, 20, 32, 43, 50):
        words = vocabulary([word_of(i << shift) for i in range(8000)])
        assert np.array_equal(words.hashes(), np.arange(8000, dtype=np.uint64) << shift)
        assert words.probes() < 3 * 8000


def test_long_words_of_one_hash_are_found_quickly():
    words = vocabulary([long_word_of(i.to_bytes(8, "little"), 12345) for i in range(8000)])
    assert len(set(words.hashes().tolist())) == 1
    assert words.probes() < 3 * 8000


def test_a_filter_learns_and_loads_tokens_of_colliding_hashes_quickly():
    names = (word_of(i << 43) for i in range(1 << 21))
    names = list(islice((name for name in names if all(byte > 32 and byte != 127 for byte in name)), 8000))
    packed = b"\xc0\x3e" + b"".join(name + b"\n" for name in names) + b"\0"
    state = _native.mail.State(2)
    state.learn(_native.mail.Letters.unpacked([packed]), 0, 0, 1.0, 1, 1)
    assert len(state) == 8000
    assert state.probes() < 3 * 8000
    loaded = _native.mail.State(2)
    loaded.put_columns(state.columns())
    assert loaded.probes() < 3 * 8000

"""How much a filter has learned."""

from __future__ import annotations

from suffice.mail.store import Store


def learned(store: Store) -> dict[str, int]:
    """Return how many messages of each class were learned, here and below; with a half-life, what is left of them."""
    counts = dict.fromkeys(store.classes(), 0.0)
    for each in (store, *store.below):
        weight = each.settings().weight(each.day())
        for label, count in zip(each.classes(), each.state().messages, strict=False):
            counts[label] += count / weight
    return {label: round(count) for label, count in counts.items()}

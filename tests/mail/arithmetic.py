"""Reference implementation of a filter in plain loops: counts, two regressions, and their combination."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

RATES = {
    "strength": 0.02,
    "power": 3.0,
    "neutral": 300.0,
    "tokens": 0.15,
    "grams": 0.02,
    "token_length": 150.0,
    "gram_length": 1000.0,
    "mixing": 0.05,
    "start": 0.1,
    "certain": 100.0,
    "few": 2.0,
    "balance": 3.0,
    "most": 1.0986,
    "conflict": 4.0,
    "scale": 0.9,
    "imbalance": 0.1,
    "novelty": 1 / 6,
}


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


class Regression:
    """One weight per feature and column, with AdaGrad steps, in single precision like the file."""

    def __init__(self, columns: int, rate: float, start: float) -> None:
        self.rate, self.start = rate, start
        self.weight = defaultdict(lambda: np.zeros(columns, np.float32))
        self.square = defaultdict(lambda: np.zeros(columns, np.float32))

    def step(self, features: Sequence[object], slopes: Sequence[float], share: float) -> None:
        for feature in features:
            for c, slope in enumerate(slopes):
                self.square[feature][c] += np.float32(share * slope * slope)
                gain = share * self.rate * slope / math.sqrt(self.start + float(self.square[feature][c]))
                self.weight[feature][c] += np.float32(gain)

    def toward(self, feature: object, label: int) -> float:
        """Return the weight of a feature for a class; the single column of two classes is for the second."""
        if feature not in self.weight:
            return 0.0
        found = self.weight[feature]
        return float(found[label]) if len(found) > 1 else float(found[0]) * (1 if label == 1 else -1)


class Reference:
    """A filter with shared filters.

    Parameters
    ----------
    classes
        How many.
    below
        Filters that are read only: what they know adds up.
    rates
        Settings by name.
    """

    def __init__(self, classes: int, below: Sequence[Reference] = (), rates: dict[str, float] | None = None) -> None:
        self.classes, self.below = classes, tuple(below)
        self.rates = {**RATES, **(rates or {})}
        self.columns = 1 if classes == 2 else classes
        self.messages = np.zeros(classes)
        self.counts = defaultdict(lambda: np.zeros(classes, np.float32))
        self.tokens = Regression(self.columns, self.rates["tokens"], self.rates["start"])
        self.grams = Regression(self.columns, self.rates["grams"], self.rates["start"])
        self.mix = [[0.6, 0.2, 0.2, 0.0] for _ in range(self.columns)]
        self.mix_squares = [[0.0] * 4 for _ in range(self.columns)]
        self.now = 1.0

    def scores(
        self, tokens: Sequence[str], grams: Sequence[int], origins: Sequence[str], header_grams: int
    ) -> list[tuple[float, float, float, float]]:
        """Return, for each column, the log-odds and its three components.

        Parameters
        ----------
        tokens, grams
            The features of a message.
        origins
            Where each token is: "body", "header" or "server".
        header_grams
            How many of the first grams are in the header.
        """
        found = []
        for c in range(self.columns):
            label = 1 if self.columns == 1 else c
            odds = [self.odds(token, label) for token in tokens]
            loud = [abs(each) ** self.rates["power"] for each in odds]
            scale = self.trust(label) / (sum(loud) + self.rates["neutral"])
            of_token, of_gram = self.scalings(tokens, grams)
            readings = (
                scale * sum(a * b for a, b in zip(odds, loud, strict=True)),
                of_token * sum(layer.tokens.toward(token, label) for layer in self.layers(label) for token in tokens),
                of_gram * sum(layer.grams.toward(gram, label) for layer in self.layers(label) for gram in grams),
            )
            sums = {"body": 0.0, "header": 0.0, "server": 0.0}
            for i, gram in enumerate(grams):
                weight = of_gram * sum(layer.grams.toward(gram, label) for layer in self.layers(label))
                sums["header" if i < header_grams else "body"] += self.mix[c][2] * weight
            for token, each, size, origin in zip(tokens, odds, loud, origins, strict=True):
                weight = of_token * sum(layer.tokens.toward(token, label) for layer in self.layers(label))
                part = self.mix[c][0] * scale * each * size + self.mix[c][1] * weight
                sums[origin] += max(-self.rates["most"], min(part, self.rates["most"]))
            total = self.mix[c][3] + (self.without_conflict(sums) if label == 1 else sum(sums.values()))
            found.append((total / self.divisor(tokens), *readings))
        return found

    def scalings(self, tokens: Sequence[str], grams: Sequence[int]) -> tuple[float, float]:
        """Return what each token and each gram of a message count in the regressions: less the more there are."""
        lengths = ((self.rates["token_length"], len(tokens)), (self.rates["gram_length"], len(grams)))
        return tuple(math.sqrt(length / max(count, length / 16)) for length, count in lengths)  # type: ignore[return-value]

    def divisor(self, tokens: Sequence[str]) -> float:
        """Return what the log-odds are divided by: much where spam is most, or tokens are new."""
        messages = self.all_messages()
        spam, rest = max(messages[1], 1), max(messages.sum() - messages[1], 1)
        unseen = sum(not any(layer.counts[token].any() for layer in (*self.below, self)) for token in tokens)
        imbalance = (spam / rest) ** self.rates["imbalance"]
        return max(1.0, self.rates["scale"] * imbalance * (1 + unseen) ** self.rates["novelty"])

    def without_conflict(self, sums: dict[str, float]) -> float:
        """Return the log-odds of spam: evidence for ham in the header or body is bounded by what the rest says."""
        total = sums["server"]
        for one, other in (("header", "body"), ("body", "header")):
            spam = sums[other] + sums["server"]
            total += max(sums[one], -self.rates["conflict"] / spam) if spam > 0 else sums[one]
        return total

    def share(self, label: int) -> float:
        """Return the weight of a message in a step: bounds the ratio of spam to other classes."""
        messages = self.all_messages()
        spam, rest = messages[1] + 1, messages.sum() - messages[1] + 1
        return float(min(1.0, rest / spam if label == 1 else self.rates["balance"] * spam / rest))

    def all_messages(self) -> np.ndarray:
        messages = np.zeros(self.classes)
        for layer in (*self.below, self):
            messages[: layer.classes] += layer.messages / self.now
        return messages

    def trust(self, label: int) -> float:
        """Return the weight of the counts: small after few messages of the class or of all others."""
        messages = self.all_messages()
        least = min(messages[label], messages.sum() - messages[label])
        return float(least / (least + self.rates["few"]))

    def layers(self, label: int) -> list[Reference]:
        return [layer for layer in (*self.below, self) if label < layer.classes]

    def odds(self, token: str, label: int) -> float:
        """Return the log-odds of a class given a token, for classes of equal size."""
        seen = np.zeros(self.classes)
        messages = np.zeros(self.classes)
        for layer in (*self.below, self):
            seen[: layer.classes] += layer.counts[token].astype(float) if token in layer.counts else 0.0
            messages[: layer.classes] += layer.messages
        seen, messages = seen / self.now, messages / self.now
        if not seen.sum() > 0:
            return 0.0
        own = seen[label] / max(messages[label], 1)
        others = (seen.sum() - seen[label]) / max(messages.sum() - messages[label], 1)
        share = own / (own + others)
        least = max(min(messages[label], messages.sum() - messages[label]), 1)
        n = min(seen[label], own * least) + min(seen.sum() - seen[label], others * least)
        half = self.rates["strength"] / 2
        return math.log((half + n * share) / (half + n * (1 - share)))

    def learn(
        self,
        tokens: Sequence[str],
        grams: Sequence[int],
        origins: Sequence[str],
        header_grams: int,
        label: int,
        weight: float = 1.0,
        steps: int = 1,
    ) -> None:
        answers = [float((1 if self.columns == 1 else c) == label) for c in range(self.columns)]
        share = self.share(label)
        features = (tokens, grams, origins, header_grams)
        for c, (_, *readings) in enumerate(self.scores(*features)):
            slope = answers[c] - sigmoid(sum(m * r for m, r in zip(self.mix[c], (*readings, 1.0), strict=True)))
            for i, reading in enumerate((*readings, 1.0)):
                self.mix_squares[c][i] += share * (slope * reading) ** 2
                self.mix[c][i] += share * self.rates["mixing"] * slope * reading / self._root(self.mix_squares[c][i])
        for _ in range(steps):
            now = self.scores(*features)
            for j, (regression, each) in enumerate(((self.tokens, tokens), (self.grams, grams))):
                scaling = self.scalings(tokens, grams)[j]
                slopes = [scaling * (y - sigmoid(score[2 + j])) for y, score in zip(answers, now, strict=True)]
                regression.step(each, slopes, share)
            after = self.scores(*features)
            if all((s > 0) == (y > 0) for y, score in zip(answers, after, strict=True) for s in score[2:]):
                break
        self.count(tokens, label, weight)

    def count(self, tokens: Sequence[str], label: int, weight: float) -> None:
        for token in tokens:
            self.counts[token][label] = max(np.float32(0), self.counts[token][label] + np.float32(weight))
        self.messages[label] = max(0.0, self.messages[label] + weight)

    def _root(self, squares: float) -> float:
        return math.sqrt(self.rates["certain"] + squares)

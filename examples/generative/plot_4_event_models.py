"""
Bernoulli and multinomial event models
======================================

The Bernoulli event model uses which words occur in a document; the multinomial event model uses how often each occurs.
Long documents contain most words at least once: then only the counts separate the classes, and the Bernoulli model
ignores them.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import BernoulliNB, MultinomialNB
from suffice.plots import FOREGROUND

rng = np.random.default_rng(0)
words, classes = 60, 4
common = 1.0 / np.arange(1, words + 1)  # Zipf's law: few words are frequent
vocabularies = common * rng.lognormal(0.0, 0.25, (classes, words))
vocabularies /= vocabularies.sum(axis=1, keepdims=True)


def documents(n, length):
    """Return counts of words, and the classes they were drawn from."""
    y = rng.integers(0, classes, n)
    return np.stack([rng.multinomial(length, vocabularies[k]) for k in y]), y


lengths = [10, 20, 40, 80, 160, 320, 640, 1280]
right = {"multinomial": [], "Bernoulli": []}
for length in lengths:
    train, test = documents(600, length), documents(1500, length)
    right["multinomial"].append(MultinomialNB().fit(*train).score(*test))
    right["Bernoulli"].append(BernoulliNB().fit(*train).score(*test))

figure, axis = plt.subplots()
for name, share in right.items():
    axis.plot(lengths, share, "o-", label=name)
axis.axhline(1 / classes, color=FOREGROUND, linewidth=0.8)
axis.set(xscale="log", xlabel="words in a document", ylabel="accuracy")
axis.set_xticks(lengths, [str(length) for length in lengths])
axis.minorticks_off()
axis.legend()
plt.show()

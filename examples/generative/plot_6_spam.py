"""
Explain a prediction: contributions of words
============================================

Naive Bayes adds up log-odds, word by word. The bars and the prior add up to the log-odds of the message; words that did
not occur in training have no effect.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import TextClassifier
from suffice.plots import ClassConditionalsDisplay

rng = np.random.default_rng(0)
spam = [
    "free money",
    "click here now",
    "you have won",
    "claim your prize",
    "cheap pills",
    "limited offer",
    "act now",
]
ham = [
    "see you at lunch",
    "meeting on Monday",
    "minutes of the meeting",
    "your draft",
    "call me",
    "thanks for the offer",
]
labels = rng.choice(["ham", "spam"], 300, p=[0.7, 0.3])
own = {"spam": spam, "ham": ham}
texts = [
    ". ".join([*rng.choice(own[label], 3), rng.choice(spam + ham)]) for label in labels
]  # one phrase of either class
model = TextClassifier().fit(texts, labels)

# %%
# The words with the highest log-odds for each class.
figure, axis = plt.subplots(figsize=(7.0, 3.8))
ClassConditionalsDisplay.from_estimator(model, ax=axis)
plt.show()

# %%
# Why a message is spam, or not.
model.explain("Thanks, dear friend! Claim your free lunch, a limited offer").compare(
    "spam", "ham"
)

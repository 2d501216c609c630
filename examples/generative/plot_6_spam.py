"""
Explain a prediction: contributions of words
============================================

Naive Bayes adds up log-odds, word by word. The bars and the prior add up to the log-odds of the message; words that did
not occur in training have no effect.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import TextClassifier

rng = np.random.default_rng(0)
spam = ["free money", "click here now", "you have won", "claim your prize", "cheap pills", "limited offer", "act now"]
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

why = model.explain("Thanks, dear friend! Claim your free lunch, a limited offer")
print(why)

# %%
# The same as a plot. The sign of the total is the predicted class.
why = why.compare("spam", "ham")
names = ["prior and base", *(each.feature for each in why.contributions)]
parts = np.array([why.base, *(each.effect for each in why.contributions)])
figure, axis = plt.subplots(figsize=(7.0, 4.5))
axis.barh(names, parts, color=np.where(parts > 0, "tab:red", "tab:blue"))
axis.axvline(0.0, color="k", linewidth=0.8)
axis.invert_yaxis()
axis.set(xlabel=f"log-odds of spam against ham; total {parts.sum():+.2f}")
plt.show()

"""
Why is this spam?
=================

Naive Bayes adds up log-odds, word by word. So a verdict comes with its reasons: the bars and the prior make the sum
on which the message is judged, and words that were never learnt change nothing.
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
]  # one phrase may be of either
model = TextClassifier().fit(texts, labels)

why = model.explain("Thanks, dear friend! Claim your free lunch, a limited offer")
print(why)

# %%
# The same as a picture. What is left of the prior's part and all words' is the verdict.
reasons = why.reasons("spam", "ham")
names = ["prior and base", *(reason.word for reason in reasons)]
parts = np.array([why.base @ [-1.0, 1.0], *(reason.log_odds for reason in reasons)])  # classes: ham, spam
figure, axis = plt.subplots(figsize=(7.0, 4.5))
axis.barh(names, parts, color=np.where(parts > 0, "tab:red", "tab:blue"))
axis.axvline(0.0, color="k", linewidth=0.8)
axis.invert_yaxis()
axis.set(xlabel=f"log-odds of spam against ham; together {parts.sum():+.2f}")
plt.show()

"""
Curves of a classifier: ROC, precision and recall, calibration, confusion
=========================================================================

Logistic regression on the breast cancer data of scikit-learn, judged on rows that it was not fitted to. Every plot is
one call with the fitted model and the rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from suffice import LogisticRegression
from suffice.plots import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    FeatureEffectsDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
)

x, y = load_breast_cancer(return_X_y=True, as_frame=True)
x = (x - x.mean()) / x.std()
train, test, y_train, y_test = train_test_split(
    x, y.map({0: "malignant", 1: "benign"}), random_state=0
)
model = LogisticRegression(C=1.0).fit(train, y_train)

figure, axes = plt.subplots(2, 2, figsize=(9.0, 7.6))
displays = (
    RocCurveDisplay,
    PrecisionRecallDisplay,
    CalibrationDisplay,
    ConfusionMatrixDisplay,
)
for axis, display in zip(axes.flat, displays, strict=True):
    display.from_estimator(model, test, y_test, ax=axis)
plt.show()

# %%
# What the model has learned: the columns with the largest effects.
FeatureEffectsDisplay.from_estimator(model, test)

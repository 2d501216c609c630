"""Fits of regressions, compared with scikit-learn, its Intel extension, glum and statsmodels.

All stop at the same optimum: the largest gradient per row is at most 1e-8, unless the task's name says otherwise.
"""

from __future__ import annotations

import os
import tarfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn import linear_model as scikit
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from benchmarks.harness import Task, Work
from benchmarks.sums import Array
from suffice import (
    GLM,
    ElasticNet,
    GammaRegressor,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    SoftmaxRegression,
    formula,
)
from suffice.families import NegativeBinomial

TOL = 1e-8
SHAPES = {"5e5 × 30": (500_000, 30), "1e5 × 200": (100_000, 200)}


def tasks() -> Iterator[Task]:
    """Yield all tasks."""
    for name, (rows, features) in SHAPES.items():
        yield from dense(name, rows, features)
    yield streamed()
    yield softmax()
    yield from counts()
    yield from inference()
    yield from paths()
    yield from chosen_penalties()
    yield from texts()
    yield from by_formula()


def quiet(work: Work) -> Work:
    """Return the work without its warnings."""

    def run() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()

    return run


def fits(models: dict[str, Callable[[], Any]], x: Any, y: Any) -> dict[str, Work]:
    """Return the work of fitting each model."""
    return {name: quiet(lambda make=make: make().fit(x, y)) for name, make in models.items()}


def intel(name: str) -> Any:
    """Return a model of scikit-learn-intelex, which replaces scikit-learn where it can."""
    import sklearnex.linear_model

    return getattr(sklearnex.linear_model, name)


def linear_predictor(random: np.random.Generator, x: Array) -> Array:
    """Return a linear predictor with a standard deviation of about 2."""
    return x @ (random.normal(size=x.shape[1]) * 2 / np.sqrt(x.shape[1])) - 0.5


def dense(name: str, rows: int, features: int) -> Iterator[Task]:
    """Yield least squares and logistic regression on dense rows."""
    import statsmodels.api as sm
    from glum import GeneralizedLinearRegressor

    random = np.random.default_rng(0)
    x = random.normal(size=(rows, features))
    z = linear_predictor(random, x)
    noisy, classes = z + random.normal(size=rows), (random.random(rows) < 1 / (1 + np.exp(-z))).astype(int)
    product: dict[str, Work] = {"dsyrk": lambda: dsyrk(1.0, x.T)}
    rivals = {"LinearRegression.fit": scikit.LinearRegression, "intelex": intel("LinearRegression")}
    yield Task(
        f"LinearRegression fit, {name}", lambda: LinearRegression().fit(x, noisy), fits(rivals, x, noisy), product
    )
    plain = {"C": np.inf, "tol": TOL, "max_iter": 10_000}
    rivals = {
        "lbfgs": lambda: scikit.LogisticRegression(**plain),
        "newton-cholesky": lambda: scikit.LogisticRegression(solver="newton-cholesky", **plain),
        "intelex": lambda: intel("LogisticRegression")(**{**plain, "C": 1e12}),  # C: else it is scikit-learn's
        "glum": lambda: GeneralizedLinearRegressor(family="binomial", alpha=0, gradient_tol=TOL),
    }
    errors: dict[str, Work] = {
        "statsmodels": quiet(lambda: sm.Logit(classes, sm.add_constant(x)).fit(disp=0, method="newton"))
    }
    for inference, words, works in ((False, "", fits(rivals, x, classes)), ("auto", " with standard errors", errors)):
        yield Task(
            f"LogisticRegression fit{words}, {name}",
            lambda inference=inference: reached(LogisticRegression(inference=inference).fit(x, classes)),
            works,
            {"X.sum()": x.sum},
        )
    mine = LogisticRegression(inference=False).fit(x, classes)
    its = scikit.LogisticRegression(**plain).fit(x, classes)
    yield Task(
        f"LogisticRegression predict_proba, {name}",
        lambda: mine.predict_proba(x),
        {"predict_proba": lambda: its.predict_proba(x)},
        {"X.sum()": x.sum},
    )


def streamed() -> Task:
    """Return logistic regression of a stream, to the optimum; other libraries read it once, and do not converge."""
    random = np.random.default_rng(0)
    rows, batch = 500_000, 50_000
    x = random.normal(size=(rows, 30))
    y = (random.random(rows) < 1 / (1 + np.exp(-linear_predictor(random, x)))).astype(int)

    def batches() -> Iterator[tuple[Array, Array]]:
        return ((x[at : at + batch], y[at : at + batch]) for at in range(0, rows, batch))

    def one_epoch() -> object:
        model = scikit.SGDClassifier(loss="log_loss", penalty=None)
        for part in batches():
            model.partial_fit(*part, classes=[0, 1])
        return model

    return Task(
        "LogisticRegression fit of a stream that is started again, 5e5 × 30",
        lambda: reached(LogisticRegression(inference=False).fit(batches)),
        {"SGDClassifier.partial_fit, one epoch": one_epoch},
        {"the same rows in memory": lambda: LogisticRegression(inference=False).fit(x, y)},
    )


def reached(model: Any) -> Any:
    """Return a converged model."""
    assert model.solution_.converged, model.solution_.reason
    assert model.solution_.trace[-1].gradient_norm <= TOL
    return model


def softmax() -> Task:
    """Return softmax regression with many classes."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200_000, 50))
    scores = x @ random.normal(size=(50, 10)) * 2 / np.sqrt(50)
    y = (scores + random.gumbel(size=scores.shape)).argmax(axis=1)
    plain = {"C": np.inf, "tol": TOL, "max_iter": 10_000}
    rivals = {
        "lbfgs": lambda: scikit.LogisticRegression(**plain),
    }
    return Task(
        "SoftmaxRegression fit, 2e5 × 50, 10 classes",
        lambda: reached(SoftmaxRegression(inference=False).fit(x, y)),
        fits(rivals, x, y),
        {"X.sum()": x.sum},
    )


def counts() -> Iterator[Task]:
    """Yield Poisson and gamma regression."""
    from glum import GeneralizedLinearRegressor

    random = np.random.default_rng(0)
    x = random.normal(size=(500_000, 30))
    mean = np.exp(linear_predictor(random, x) / 2)
    for ours, family, y, theirs in (
        (PoissonRegressor, "poisson", random.poisson(mean).astype(float), scikit.PoissonRegressor),
        (GammaRegressor, "gamma", random.gamma(2.0, mean / 2), scikit.GammaRegressor),
    ):
        plain = {"alpha": 0.0, "tol": TOL, "max_iter": 10_000}
        rivals = {
            "lbfgs": lambda theirs=theirs, plain=plain: theirs(**plain),
            "newton-cholesky": lambda theirs=theirs, plain=plain: theirs(solver="newton-cholesky", **plain),
            "glum": lambda family=family: GeneralizedLinearRegressor(
                family=family, link="log", alpha=0, gradient_tol=TOL
            ),
        }
        yield Task(
            f"{ours.__name__} fit, 5e5 × 30",
            lambda ours=ours, y=y: reached(ours(inference=False).fit(x, y)),
            fits(rivals, x, y),
            {"X.sum()": x.sum},
        )


def inference() -> Iterator[Task]:
    """Yield fits whose standard errors are not the classical ones, and diagnostics of every row."""
    import statsmodels.api as sm
    from glum import GeneralizedLinearRegressor

    random = np.random.default_rng(0)
    rows, features = SHAPES["5e5 × 30"]
    x = random.normal(size=(rows, features))
    z = linear_predictor(random, x) / 4
    events = random.poisson(np.exp(z) * random.gamma(2.0, 0.5, rows)).astype(float)
    classes = (random.random(rows) < 1 / (1 + np.exp(-z))).astype(float)
    groups = random.integers(0, 5000, rows)
    design = sm.add_constant(x)

    def glum_errors(family: str, y: Array, **more: Any) -> Work:
        model = GeneralizedLinearRegressor(family=family, alpha=0, gradient_tol=TOL)
        return quiet(lambda: model.fit(x, y).covariance_matrix(x, y, **more))

    yield Task(
        "PoissonRegressor fit, quasi-Poisson errors, 5e5 × 30",
        lambda: reached(PoissonRegressor(dispersion="pearson", inference=True).fit(x, events)),
        {
            "glum": glum_errors("poisson", events),
            "statsmodels": quiet(lambda: sm.GLM(events, design, sm.families.Poisson()).fit(scale="X2")),
        },
        {"X.sum()": x.sum},
    )
    yield Task(
        "LogisticRegression fit, errors of 5000 clusters, 5e5 × 30",
        lambda: reached(LogisticRegression(covariance="clustered", inference=True).fit(x, classes, groups=groups)),
        {
            "glum": glum_errors("binomial", classes, clusters=groups),
            "statsmodels": quiet(
                lambda: sm.Logit(classes, design).fit(
                    disp=0, method="newton", cov_type="cluster", cov_kwds={"groups": groups}
                )
            ),
        },
        {"X.sum()": x.sum},
    )
    yield Task(
        "GLM fit, negative binomial with theta estimated, 5e5 × 30",
        lambda: reached(GLM(NegativeBinomial(), inference=True).fit(x, events)),
        {"statsmodels": quiet(lambda: sm.NegativeBinomial(events, design).fit(disp=0, maxiter=1000))},
        {"X.sum()": x.sum},
    )
    noisy = z + random.normal(size=rows)
    line = LinearRegression().fit(x, noisy)
    yield Task(
        "LinearRegression diagnostics without DFBETAs, 5e5 × 30",
        lambda: line.diagnostics(x, noisy, dfbetas=False),
        {"statsmodels": quiet(lambda: sm.OLS(noisy, design).fit().get_influence().cooks_distance)},
        {"X.sum()": x.sum},
    )


def paths() -> Iterator[Task]:
    """Yield elastic-net paths of 50 penalties."""
    from glum import GeneralizedLinearRegressor

    random = np.random.default_rng(0)
    x = random.normal(size=(100_000, 50))
    z = linear_predictor(random, np.ascontiguousarray(x[:, :20]))
    y, classes = z + random.normal(size=len(z)), (random.random(len(z)) < 1 / (1 + np.exp(-z))).astype(float)
    settings = {"alpha_search": True, "n_alphas": 50, "min_alpha_ratio": 1e-3, "l1_ratio": 0.5, "gradient_tol": 1e-6}
    linear, logistic = ElasticNet(l1_ratio=0.5), LogisticRegression(tol=1e-6)
    for family, ours, target, given in (
        ("normal", linear, y, {"alphas": 50}),
        ("binomial", logistic, classes, {"l1_ratio": 0.5}),
    ):
        rivals: dict[str, Work] = {
            "glum": quiet(
                lambda family=family, target=target: GeneralizedLinearRegressor(family=family, **settings).fit(
                    x, target
                )
            )
        }
        if family == "normal":
            rivals["enet_path"] = quiet(
                lambda: scikit.enet_path(x - x.mean(axis=0), y - y.mean(), l1_ratio=0.5, alphas=50)
            )
        yield Task(
            f"{type(ours).__name__} elastic-net path of 50 penalties, 1e5 × 50, slopes 1e-6",
            lambda ours=ours, target=target, given=given: ours.path(x, target, **given),
            rivals,
            {"X.sum()": x.sum},
        )


def chosen_penalties() -> Iterator[Task]:
    """Yield ridge regression, and penalties chosen by cross-validation."""
    random = np.random.default_rng(0)
    x = random.normal(size=(100_000, 50))
    z = linear_predictor(random, x)
    y, classes = z + random.normal(size=len(z)), (random.random(len(z)) < 1 / (1 + np.exp(-z))).astype(int)
    alphas = np.logspace(-3, 3, 20)
    theirs_of_classes = {"l1_ratios": (0.0,), "scoring": None, "use_legacy_attributes": False}
    logistic = LogisticRegressionCV(tol=1e-4), scikit.LogisticRegressionCV(**theirs_of_classes)
    for what, (ours, theirs), target in (
        ("Ridge", (Ridge(), scikit.Ridge()), y),
        ("RidgeCV of 20 penalties, leave-one-out", (RidgeCV(alphas), scikit.RidgeCV(alphas)), y),
        ("RidgeCV of 20 penalties, 5 folds", (RidgeCV(alphas, cv=5), scikit.RidgeCV(alphas, cv=5)), y),
        ("LassoCV of 100 penalties, 5 folds", (LassoCV(), scikit.LassoCV()), y),
        ("LogisticRegressionCV of 10 penalties, 5 folds", logistic, classes),
    ):
        name = what.partition(" ")[0]
        yield Task(
            f"{what}, 1e5 × 50",
            quiet(lambda ours=ours, target=target: ours.fit(x, target)),
            {f"{name}.fit": quiet(lambda theirs=theirs, target=target: theirs.fit(x, target))},
            {"X.sum()": x.sum},
        )


def texts() -> Iterator[Task]:
    """Yield logistic regression on documents, to the same loss, if SUFFICE_DATA has 20 Newsgroups."""
    folder = newsgroups()
    if folder is None:
        return
    pair, labels = documents(folder, ["sci.med", "sci.space"])
    every, topics = documents(folder, sorted(path.name for path in folder.iterdir()))
    hashed = HashingVectorizer(n_features=2**20, alternate_sign=False)
    for name, x, y in (
        ("a pair of 20 Newsgroups, CSR 1,187 × 25,638", TfidfVectorizer().fit_transform(pair), labels),
        ("20 Newsgroups in two, CSR 11,314 × 1,048,576 hashed", hashed.transform(every), (topics >= 10).astype(int)),
    ):
        yield text(name, x, y)


def text(name: str, x: Any, y: Any) -> Task:
    """Return logistic regression on CSR: the loss of every solver is within 1e-6 of the minimum."""
    plain = {"C": 1.0, "fit_intercept": False, "max_iter": 10_000}
    settings = {"lbfgs": 1e-5, "liblinear": 1e-3, "newton-cg": 1e-5, "saga": 1e-4}
    rivals = {
        solver: lambda solver=solver, tol=tol: scikit.LogisticRegression(solver=solver, tol=tol, **plain)
        for solver, tol in settings.items()
    }

    def ours() -> Any:
        return LogisticRegression(C=1.0, fit_intercept=False, tol=1e-4).fit(x, y)

    def loss(model: Any) -> float:
        coef = model.coef_[0]
        return float(np.logaddexp(0, -(2 * y - 1) * (x @ coef)).sum() + coef @ coef / 2)

    def prepare() -> None:
        mine = loss(ours())
        for solver, make in rivals.items():
            excess = loss(make().fit(x, y)) / mine - 1
            assert abs(excess) < 2e-6, f"{solver} is off by {excess:.1e}"

    return Task(f"LogisticRegression fit, {name}, to the same loss", ours, fits(rivals, x, y), {}, prepare)


def newsgroups() -> Path | None:
    """Return the folder of the training articles, unpacked once next to the tests' other data."""
    home = os.environ.get("SUFFICE_DATA")
    archive = Path(home, "20news-bydate.tar.gz") if home else None
    if archive is None or not archive.exists():
        return None
    cache = Path(__file__).parent.parent / ".cache"
    folder = cache / "20news" / "20news-bydate-train"
    if not folder.exists():
        cache.mkdir(exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(cache, filter="data")
    return folder


def documents(folder: Path, groups: list[str]) -> tuple[list[str], Any]:
    """Return the articles of some groups, and the group number of each."""
    texts, labels = [], []
    for number, group in enumerate(groups):
        for path in sorted((folder / group).iterdir()):
            texts.append(path.read_text(encoding="latin-1"))
            labels.append(number)
    return texts, np.array(labels)


def by_formula() -> Iterator[Task]:
    """Yield fits by a formula, beside the same fits to a matrix that pandas makes by hand, and to that of formulaic."""
    import pandas as pd
    from formulaic import model_matrix

    random = np.random.default_rng(0)
    rows = 500_000
    columns = {name: random.normal(size=rows) for name in ("y", "a", "b", "d", "e", "f")}
    table = pd.DataFrame(columns | {"c": random.gamma(2.0, size=rows), "g": random.choice(["g1", "g2", "g3"], rows)})
    table["h"] = pd.Categorical(random.choice(["u", "v", "w"], rows))
    table["low"] = random.choice(["no", "yes"], rows)
    terms = "a + b + log(c) + d + g + h + e + f + a:h + I(b**2)"

    def by_hand() -> Array:
        levels = {name: pd.get_dummies(table[name], drop_first=True, dtype=float) for name in ("g", "h")}
        plain = [table["a"], table["b"], np.log(table["c"]), table["d"], *levels.values(), table["e"], table["f"]]
        return pd.concat([*plain, levels["h"].mul(table["a"], axis=0), table["b"] ** 2], axis=1).to_numpy()

    for model, target in ((LinearRegression, "y"), (LogisticRegression, "low")):
        yield Task(
            f"{model.__name__} by a formula of 10 terms, 5e5 rows",
            lambda target=target: formula.fit(f"{target} ~ {terms}", table),
            {
                "matrix by hand": lambda model=model, target=target: model().fit(by_hand(), table[target]),
                "formulaic": lambda model=model, target=target: model().fit(
                    model_matrix(terms, table, output="numpy")[:, 1:], table[target]
                ),
            },
            {"X.sum()": by_hand().sum},
        )

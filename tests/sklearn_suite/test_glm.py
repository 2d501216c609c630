"""scikit-learn's tests of generalised linear models."""

from sklearn._loss import HalfGammaLoss, HalfPoissonLoss, HalfTweedieLoss

import suffice
from suffice.families import Response
from tests.sklearn_suite.replacement import load_tests


class Poisson(suffice.PoissonRegressor):
    def _get_loss(self):
        return HalfPoissonLoss()


class Gamma(suffice.GammaRegressor):
    def _get_loss(self):
        return HalfGammaLoss()


class Tweedie(suffice.TweedieRegressor):
    def _get_loss(self):
        return HalfTweedieLoss(power=self.power)


class Generalised(suffice.TweedieRegressor):
    def __init__(self, *, alpha=1.0, fit_intercept=True, solver="lbfgs", max_iter=100, tol=1e-4):
        super().__init__(alpha=alpha, fit_intercept=fit_intercept, solver=solver, max_iter=max_iter, tol=tol)

    def _response(self):
        # A subclass in the tests, which states by its loss alone that it is a binomial regression.
        return Response.of("bernoulli") if type(self).__name__ == "BinomialRegressor" else super()._response()


def with_default(kind):
    """Return a function that makes a regression with scikit-learn's default penalty."""
    return lambda alpha=1.0, **settings: kind(alpha=alpha, **settings)


globals().update(
    load_tests(
        "sklearn.linear_model._glm.tests.test_glm",
        "sklearn.linear_model",
        {
            "PoissonRegressor": with_default(Poisson),
            "GammaRegressor": with_default(Gamma),
            "TweedieRegressor": with_default(Tweedie),
        },
        leave_out=("array_api", "newton_solver_verbosity"),
        elsewhere={"sklearn.linear_model._glm": {"_GeneralizedLinearRegressor": Generalised}},
    )
)

LEAST_NORM = "by design: lbfgs is preconditioned; without a penalty, solver='newton' has the solution of least norm"

DIFFERENCES = {
    "test_glm_regression_unpenalized[wide-*-False-lbfgs]": LEAST_NORM,
    "test_glm_regression_unpenalized_hstacked_X[wide-*-False-lbfgs]": LEAST_NORM,
    "test_glm_regression_unpenalized_vstacked_X[wide-*-False-lbfgs]": LEAST_NORM,
    "test_normal_ridge_comparison": "by design: tol is the error of predictors relative to their scale, here 1e-5",
    "test_linalg_warning_with_newton_solver": "by design: a warning names the collinear columns, for every solver",
    "test_sample_weights_validation": "message: it gives the shape of sample_weight and the number of rows",
    "test_glm_wrong_y_range": "message: it gives the row, its value and the range",
    "test_tweedie_link_argument": "private: _base_loss",
    "test_tweedie_link_auto": "private: _base_loss",
    "test_glm_log_regression[estimator5-*]": "missing: powers above 2 other than 3",
}

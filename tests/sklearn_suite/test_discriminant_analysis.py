"""scikit-learn's tests of discriminant analysis."""

from suffice import GDA
from tests.sklearn_suite.replacement import load_tests


def linear(
    solver="svd",
    shrinkage=None,
    priors=None,
    n_components=None,
    store_covariance=False,
    tol=1e-4,
    covariance_estimator=None,
):
    """Return the GDA of one covariance: there is one solver, and the covariance is always stored."""
    if covariance_estimator is not None:
        raise NotImplementedError("GDA has no covariance_estimator")
    return GDA("tied", shrinkage, priors, n_components=n_components)


def quadratic(
    *,
    solver="svd",
    shrinkage=None,
    priors=None,
    reg_param=0.0,
    store_covariance=False,
    tol=1e-4,
    covariance_estimator=None,
):
    """Return the GDA of a covariance per class."""
    if covariance_estimator is not None or reg_param:
        raise NotImplementedError("GDA has no covariance_estimator, and no reg_param")
    return GDA("full", shrinkage, priors)


globals().update(
    load_tests(
        "sklearn.tests.test_discriminant_analysis",
        "sklearn.discriminant_analysis",
        {"LinearDiscriminantAnalysis": linear, "QuadraticDiscriminantAnalysis": quadratic},
        leave_out=("array_api", "test_covariance"),
    )
)

DIFFERENCES = {
    "test_lda_predict": "by design: there is one solver; it takes shrinkage, and no covariance_estimator",
    "test_lda_transform": "by design: there is one solver, and it projects",
    "test_lda_store_covariance": "by design: the covariance is always there",
    "test_lda_shrinkage": "by design: no covariance_estimator, which needs the rows",
    "test_lda_ledoitwolf": "by design: no covariance_estimator, which needs the rows",
    "test_lda_dtype_match[float32-float32]": "by design: coefficients are float64, since sums are; answers are float32",
    "test_qda_covariance_estimator": "by design: no covariance_estimator, which needs the rows",
    "test_qda_ledoitwolf": "by design: no covariance_estimator, which needs the rows",
    "test_qda_coefs": "by design: covariance_ instead of rotations_ and scalings_ of each class",
    "test_qda_store_covariance": "by design: the covariance is always there",
    "test_qda_regularization": "by design: shrinkage instead of reg_param, and another error for singular covariances",
    "test_get_feature_names_out": "by design: columns are named after the class, gda0",
    "test_lda_priors": "message: 'Priors' in upper case; and priors that do not sum to 1 are refused",
}

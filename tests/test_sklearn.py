from sklearn.utils.estimator_checks import parametrize_with_checks
from gainful.sklearn import GPClassifier, GPRegressor

@parametrize_with_checks([GPRegressor(), GPClassifier()])
def test_scikit_learns_own_checks_pass(estimator, check) -> None:
    check(estimator)

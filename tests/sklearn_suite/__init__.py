"""scikit-learn's own tests, run with the classes of suffice in the place of scikit-learn's.

A file here names one test module of scikit-learn, the classes that replace scikit-learn's, and ``DIFFERENCES``: the
tests that fail, each with the reason, which starts with its group:

- by design: the behaviour differs on purpose
- message: an error or a warning has other words
- private: the test uses a private name of scikit-learn
- rounding: the last digits differ
- missing: what scikit-learn has, and suffice does not

A difference that is no more, or that names no test, fails the run.
"""

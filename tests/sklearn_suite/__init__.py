"""scikit-learn's own tests, run with the classes of suffice in the place of scikit-learn's.

A file here names one test module of scikit-learn, the classes that replace scikit-learn's, and ``DIFFERENCES``: the
tests that fail, each with the reason. A difference that is no more, or that names no test, fails the run.
"""

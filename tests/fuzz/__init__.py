"""Fuzz targets for untrusted input: mail, text, sparse matrices, and the files of models and filters."""

"""Fuzz targets for what strangers send: mail, text, sparse matrices, and the files of models and filters."""

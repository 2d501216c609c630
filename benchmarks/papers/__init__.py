"""Published comparisons, repeated with the models of this library on the same data."""

"""Sums of CUDA tensors, each in one read of the rows, by kernels that Triton compiles."""

"""The algorithms: one outer loop (`iterate`) and the steps that it advances."""

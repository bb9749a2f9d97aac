"""Model selection that shares the kernel: paths along C and cross-validation."""

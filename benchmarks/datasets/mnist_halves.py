"""Digits 0-4 against 5-9."""

import numpy as np

from benchmarks.datasets import mnist


class Dataset(mnist.Dataset):
    name = "mnist 0-4 vs 5-9"

    def get_data(self):
        data = super().get_data()
        for part in ("y", "y_test"):
            data[part] = np.where(data[part] >= 5, 1, -1)
        return data

"""Digits, 784 pixels divided by 255, ten classes."""

import numpy as np
from sklearn.datasets import fetch_openml

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "mnist"

    def get_data(self):
        X, y = load("mnist", fetch)[:2]
        return split((X / np.float32(255)).astype(np.float32), y.astype(int), n=self.n)


def fetch():
    X, y = fetch_openml("mnist_784", return_X_y=True, as_frame=False)
    return X[:60000], y[:60000]

"""Letters: 16 features scaled to [-1, 1], 26 classes."""

import numpy as np
from sklearn.datasets import fetch_openml

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "letter"

    def get_data(self):
        return split(*load("letter", fetch), n=self.n)


def fetch():
    X, y = fetch_openml("letter", version=1, return_X_y=True, as_frame=False)
    return (X / 7.5 - 1).astype(np.float32), np.unique(y, return_inverse=True)[1]

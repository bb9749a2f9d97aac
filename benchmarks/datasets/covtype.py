"""Forest cover types, class 2 against the rest: 54 features, standardised."""

import numpy as np
from sklearn.datasets import fetch_covtype

from benchmarks.datasets import BaseDataset, load, split, standardised


class Dataset(BaseDataset):
    name = "covtype"

    def get_data(self):
        X, y = load("covtype", lambda: fetch_covtype(return_X_y=True))
        return standardised(split(X, np.where(y == 2, 1, -1), n=self.n))

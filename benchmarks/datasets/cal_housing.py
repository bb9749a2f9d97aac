"""House values in California: 8 features and the target, standardised."""

from sklearn.datasets import fetch_california_housing

from benchmarks.datasets import BaseDataset, load, split, standardised


class Dataset(BaseDataset):
    name = "cal_housing"

    def get_data(self):
        # What scikit-learn fetches has ratios of the same columns: another, similar problem.
        found = load("cal_housing", lambda: fetch_california_housing(return_X_y=True))
        return standardised(split(*found, n=self.n), targets=True)

"""Simulated robot arm: 8 features and a strongly non-linear target, standardised."""

from benchmarks.datasets import BaseDataset, load, split, standardised


class Dataset(BaseDataset):
    name = "kin40k"

    def get_data(self):
        return standardised(split(*load("uci_kin40k"), n=self.n), targets=True)

"""Protein structures (CASP): 9 features and the target, standardised."""

from benchmarks.datasets import BaseDataset, load, split, standardised


class Dataset(BaseDataset):
    name = "casp"

    def get_data(self):
        return standardised(split(*load("protein_casp"), n=self.n), targets=True)

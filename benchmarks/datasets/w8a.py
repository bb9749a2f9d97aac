"""w8a: 300 binary features as they come, sparse, 3% positive."""

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "w8a"

    def get_data(self):
        return split(*load("w8a"), n=self.n)

"""a9a (Adult): 123 binary features as they come, sparse, two classes."""

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "a9a"

    def get_data(self):
        return split(*load("a9a"), n=self.n)

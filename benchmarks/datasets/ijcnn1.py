"""ijcnn1: 22 features as they come, two classes, one in ten positive."""

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "ijcnn1"

    def get_data(self):
        return split(*load("ijcnn1"), n=self.n)

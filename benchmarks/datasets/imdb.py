"""Film reviews (imdb), tf-idf: 27,272 words, sparse, two classes."""

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "imdb"

    def get_data(self):
        return split(*load("imdb_tfidf"), n=self.n)

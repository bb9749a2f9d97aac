"""20 newsgroups, tf-idf: 53,665 words, sparse, 20 classes."""

import numpy as np
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.datasets import BaseDataset, load, split


class Dataset(BaseDataset):
    name = "news20"

    def get_data(self):
        return split(*load("20news_tfidf", fetch), n=self.n)


def fetch():
    """Vectorise the documents as the stored file was made: headers cut, fitted on the training."""
    train, test = (fetch_20newsgroups(subset=s, remove=("headers",)) for s in ("train", "test"))
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    X = words.fit_transform(train.data)
    return X, train.target, words.transform(test.data), test.target

from borrowed import borrow

globals().update(borrow("sklearn.svm.tests.test_svm"))

from borrowed import borrow

globals().update(borrow("sklearn.tests.test_kernel_ridge"))

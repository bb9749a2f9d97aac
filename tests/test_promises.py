"""What README.md promises, each sentence with the tests that would fail if it were not true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

# A sentence as it is printed, and tests as pytest names them. What is measured (seconds) is not
# tested: benchmarks/results/ has it.
PROMISES = {
    "solves that problem, for the losses it brings and for your own": [
        "tests/campaign/test_campaign.py::test_drawn_cases",
        "tests/test_user_loss.py::test_compiled_equals_python",
    ],
    "an upper bound on how far the objective is from its optimum": [
        "tests/campaign/test_campaign.py::test_drawn_cases",
        "tests/campaign/test_campaign.py::test_a_gap_that_is_too_small_is_found",
        "tests/estimators/test_rescaled_linear.py::test_claims_are_true_of_the_model_returned",
    ],
    "A fit says what it reached and why it stopped.": [
        "tests/campaign/test_campaign.py::test_a_status_that_is_not_true_is_found",
        "tests/estimators/test_certificates.py::test_warning_names_gap_and_parameter",
        "tests/model_selection/test_search_limits.py::test_status_is_that_of_the_search",
    ],
    "scikit-learn's support vector machines have a certificate": [
        "tests/test_promises.py::test_what_the_examples_print",
        "tests/estimators/test_certificates.py::test_attributes_of_a_fit",
    ],
    "**Quantile bands** that never cross": ["tests/test_quantile.py::test_never_cross"],
    "# about 0.8": ["tests/test_promises.py::test_what_the_examples_print"],
    "its value and its derivative are enough": [
        "tests/test_check_loss.py::test_derivative_is_enough",
        "tests/test_user_loss.py::test_derivative_alone_at_ordinary_scales",
    ],
    "silent, or an error that says in words what is wrong": [
        "tests/test_check_loss.py::test_own_losses_pass",
        "tests/test_check_loss.py::test_broken_losses_are_told_apart",
    ],
    "Data are svmlight text, CSV, TSV, Parquet or NPZ.": [
        "tests/cli/test_fit_and_tune.py::test_regression_formats_agree",
        "tests/test_read.py::test_svmlight",
        "tests/test_read.py::test_npz",
    ],
    "Words become categories, numbers are scaled, and the model remembers how.": [
        "tests/model_file/test_save_and_load.py::test_tabular_model",
        "tests/cli/test_saved_models.py::test_new_categories_are_noted",
    ],
    "Ctrl-C saves the best model so far with its gap.": [
        "tests/cli/test_stopped_fits.py::test_interrupt_saves_the_best_so_far",
    ],
    "# a model for svm-predict": [
        "tests/cli/test_saved_models.py::test_convert_with_libsvms_programs",
        "tests/test_readme.py::test_commands_run",
    ],
    "quantiles and expectiles that do not cross": ["tests/test_quantile.py::test_never_cross"],
    "any loss, dense or sparse, the kernel matrix never formed": [
        "tests/test_linear.py::test_never_forms_the_kernel_matrix",
        "tests/test_linear.py::test_is_the_linear_kernel",
    ],
    "scikit-learn's names and attributes": [
        "tests/test_sklearn_checks.py::test_scikit_learn_check",
        "tests/test_ridge.py::test_takes_their_parameters",
    ],
    "kernels that are not positive semidefinite": ["tests/test_indefinite.py::test_repaired"],
    "[model selection](docs/model_selection.md) that shares the kernel": [
        "tests/model_selection/test_chosen_model.py::test_shared_distances_make_no_difference",
        "tests/model_selection/test_scores.py::test_scores_of_classifiers_are_those_of_cold_fits",
        "tests/model_selection/test_search_threads.py::test_threads_do_not_change_scores",
    ],
    "model files that cannot run code": [
        "tests/model_file/test_damaged_files.py::test_damage_is_told",
        "tests/model_file/test_damaged_files.py::test_no_change_of_bytes_is_a_crash",
    ],
    "smooths any loss of one score, and gives a loss again": [
        "tests/test_envelope.py::test_it_is_a_valid_loss",
    ],
    "the result is kept on disk": ["tests/test_compile_cache.py::test_life_of_the_cache"],
    "`status_` says `NOT_PSD`, and `repair(K)` makes such a matrix positive": [
        "tests/test_indefinite.py::test_negative_curvature_is_reported",
        "tests/test_indefinite.py::test_repaired",
    ],
    "Losses must be convex and finite.": [
        "tests/test_wrong_losses.py::test_no_fit_goes_on_for_ever",
        "tests/test_losses.py::test_value_is_convex_and_not_negative",
    ],
}


def plain(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("sentence", PROMISES)
def test_each_promise_has_its_tests(sentence):
    assert sentence in plain(README), "the README says it otherwise now: look at its tests too"
    for test in PROMISES[sentence]:
        path, _, name = test.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}", source, flags=re.MULTILINE), test


def test_what_the_examples_print(capsys):
    """The comments beside `print` in the first two examples are true."""
    svc, bands = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)[:2]
    exec(svc, {})
    score, claim = capsys.readouterr().out.splitlines()
    assert float(score) > 0.95
    assert re.fullmatch(r"CONVERGED \[?\d.*", claim)
    exec(bands, found := {})
    assert 0.75 <= float(capsys.readouterr().out) <= 0.85
    assert (found["low"] <= found["median"]).all()
    assert (found["median"] <= found["high"]).all()

"""Ways to sort digits, and the choice of their temperatures."""

import numpy as np
import pytest
import tensorflow as tf

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]


@pytest.mark.parametrize("operator", ["neural_sort", "soft_sort", "lapsum", "projection", "projection_kl"])
def test_numbers_are_sorted_by_the_error_of_their_soft_ranks(operator, script, tmp_path):
    digits = script("digits")
    arguments = ["--loss", "ranks", "--operator", operator, "--tau", "0.001", "--output", str(tmp_path)]
    loss = digits.new_loss(digits.parse(arguments))
    numbers = tf.constant([[7.0, 90.0, 7.0, 3.0]])  # ranks 2.5, 1, 2.5 and 4
    np.testing.assert_allclose(loss(numbers, tf.constant([[2.0, 3.0, 2.0, 1.0]])), [0], atol=1e-6)
    np.testing.assert_allclose(loss(numbers, tf.constant([[2.0, 1.0, 2.0, 3.0]])), [(9 + 9) / 4], rtol=1e-5)
    soft = digits.new_loss(digits.parse([*arguments, "--tau", "100"]))(numbers, tf.constant([[2.0, 1.0, 2.0, 3.0]]))
    assert 1 < float(soft[0]) < 1.5  # all soft ranks are near the middle


def test_ranks_train_without_a_permutation_on_images_for_validation(script, tmp_path, monkeypatch):
    module, parts = script("digits"), []
    real_split = script("_shared.labelled_images").split
    monkeypatch.setattr(module.labelled_images, "split", lambda *each: parts.append(each) or real_split(*each))
    settings = ["--steps", "2", "--test-lists", "20", "--no-baselines", "--output", str(tmp_path)]
    report = module.main(module.parse(["--loss", "ranks", "--operator", "projection", "--validation", *settings]))
    assert set(report["results"]) == {"chance", "projection"}
    assert (tmp_path / "digits.png").stat().st_size > 5000
    *_, (images, count) = parts
    assert (len(images.classes), count) == (1297, 300)


def test_methods_are_compared_at_the_temperature_that_was_best_on_other_images(script, monkeypatch, tmp_path):
    digits_seeds = script("digits_seeds")
    runs = []

    def measures(tree, seed, folder, options, settings):
        given = dict(zip(settings[::2], settings[1::2], strict=False))
        tau, method = float(given["--tau"]), given["--operator"]
        is_choice = "--validation" in settings
        runs.append((method, given["--loss"], tau, seed, is_choice, folder))
        best = {"lapsum": 3.0}.get(method, 0.5)
        # Only images for validation may choose: on others the temperature 1 is the best one.
        share = 0.5 - abs(tau - best) / 10 if is_choice else 0.9 if tau == 1 else 0.6 + 0.02 * seed
        return {method: {"all_correct": share, "element": 0.75}}

    monkeypatch.setattr(digits_seeds, "run", measures)
    arguments = ["--methods", "--seeds", "2", "4", "--taus", "0.5", "1", "3", "--output", str(tmp_path)]
    tables = digits_seeds.main(arguments)["tables"]
    assert len(tables["methods"]) == 7
    assert {(row["method"], row["tau"]) for row in tables["methods"] if row["tau"] != 0.5} == {("`lapsum`", 3.0)}
    assert {row["all correct"] for row in tables["methods"]} == {"0.660 +- 0.028"}
    (lapsum,) = [row for row in tables["temperatures"] if row["method"] == "`lapsum`"]
    assert [lapsum[f"tau {tau}"] for tau in ("0.5", "1", "3")] == pytest.approx([0.25, 0.3, 0.5])
    assert [row["seed"] for row in tables["method-seeds"]] == [2, 4] * 7
    assert {seed for *_, seed, is_choice, _ in runs if is_choice} == {2}
    assert len({folder for *_, folder in runs}) == len(runs) == 7 * 3 + 7 * 2

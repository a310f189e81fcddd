"""SVMlight files: against a reader that takes one number after another, and scikit-learn's; each rule's message."""

import importlib
import re

import numpy as np
import pytest
from support.data.judged import as_text, random_lists, slow_read

import keras_softsort as ks
from keras_softsort.data import svmlight

pytestmark = pytest.mark.default_stack_only
WRITTEN_BY_HAND = b"""# MSLR ends its lines with a space, Istella has numbers beyond float64, LETOR has comments
2 qid:10 1:0.5 2:-3 4:1e-3 \r
\t0   qid:10\t2:+7.25 # docid = GX001 1:9 inc = 1

1.5 qid:7 3:1.79769313486232e+308 4:-1.79769313486232E308
   # nothing
0 qid:7
1 qid:0012 1:.5 2:5. 3:-.25 4:-0 #
3 qid:9007199254740991 1:9999999999999999999 2:0.12345678901234567 3:-0.12345678901234567 4:1e-400"""
LARGEST = np.finfo(np.float32).max


def write(folder, text, name="train.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(lists, features, labels, sizes, queries):
    assert lists.features.dtype == lists.labels.dtype == np.float32
    np.testing.assert_allclose(lists.features, features, rtol=1e-7, atol=0)  # a rounding of float32
    assert lists.labels.tolist() == list(labels)
    assert lists.sizes.tolist() == list(sizes)
    assert (lists.query_ids if lists.query_ids is None else lists.query_ids.tolist()) == queries


@pytest.fixture(params=[2**23, 1], ids=["one block", "one block per line"])
def block(request, monkeypatch):
    monkeypatch.setattr(svmlight, "READ_BYTES", request.param)


def test_by_hand(tmp_path, block):
    features = [
        [0.5, -3, 0, 0.001],
        [0, 7.25, 0, 0],
        [0, 0, LARGEST, -LARGEST],
        [0, 0, 0, 0],
        [0.5, 5, -0.25, 0],
        [9999999999999999999, 0.12345678901234567, -0.12345678901234567, 0],
    ]
    lists = ks.data.read_svmlight(write(tmp_path, WRITTEN_BY_HAND))
    same(lists, features, [2, 0, 1.5, 0, 1, 3], [2, 2, 1, 1], [10, 7, 12, 9007199254740991])
    one_list, labels = lists[1]
    assert one_list.shape == (2, 4)
    assert labels.tolist() == [1.5, 0]


@pytest.mark.parametrize("form", ["{:.16g}", "{:.6f}", "{:.3e}"])
def test_as_read_one_by_one_and_by_scikit_learn(tmp_path, monkeypatch, form):
    from sklearn.datasets import load_svmlight_file

    monkeypatch.setattr(svmlight, "READ_BYTES", 2000)
    text = as_text(random_lists([1, 30, 2, 50, 17], features=9), form=form)
    assert len(text) > 3 * 2000
    path = write(tmp_path, text)
    lists = ks.data.read_svmlight(path)
    same(lists, *slow_read(text))
    theirs, labels, queries = load_svmlight_file(str(path), query_id=True)
    np.testing.assert_allclose(lists.features, theirs.toarray(), rtol=1e-7)
    np.testing.assert_array_equal(np.repeat(lists.query_ids, lists.sizes), queries)
    np.testing.assert_array_equal(lists.labels, labels)


def test_query_ids_of_64_bits(tmp_path, block):
    from sklearn.datasets import load_svmlight_file

    ids = [2**53 + 1, 2**53 + 2, 2**53, 999999999999999999, 10**18, 2**63 - 1, 2**63 - 2, 0]
    ids += [-1, -3, -(2**53) - 1, -999999999999999999, -(10**18), -(2**63), 1 - 2**63]
    lines = [f"1 qid:{i} 1:-2\n" for i in ids]
    path = write(
        tmp_path, "".join(lines) + "0 qid:00000000000000000000007 1:1\n0 qid:-0000000000000000000008\n0 qid:+5 1:1\n"
    )
    lists = ks.data.read_svmlight(path)
    assert lists.query_ids.tolist() == [*ids, 7, -8, 5]
    assert lists.labels.tolist() == [1] * len(ids) + [0] * 3
    assert lists.features.ravel().tolist() == [-2] * len(ids) + [1, 0, 1]
    assert lists.query_ids.tolist() == load_svmlight_file(str(path), query_id=True)[2].tolist()


@pytest.mark.parametrize(("suffix", "module"), [(".gz", "gzip"), (".bz2", "bz2")])
def test_compressed(tmp_path, suffix, module, monkeypatch):
    monkeypatch.setattr(svmlight, "READ_BYTES", 700)
    compress = importlib.import_module(module).compress
    text = as_text(random_lists([4, 9]))
    path = write(tmp_path, compress(text.encode()), f"train.txt{suffix}")
    same(ks.data.read_svmlight(path), *slow_read(text))
    path = write(tmp_path, compress(b"1 qid:1 1:2\n1 qid:2 1:2\n1 qid:1 1:2\n"), f"again.txt{suffix}")
    with pytest.raises(ValueError, match=r"line 3: expected the lines .* which began in line 1"):
        ks.data.read_svmlight(path)
    path = write(tmp_path, compress(b"1 1:2\n"), f"sizes.txt{suffix}")
    write(tmp_path, "1\n", "sizes.txt.query")
    assert ks.data.read_svmlight(path).sizes.tolist() == [1]
    path = write(tmp_path, compress(text.encode())[:-20], f"cut.txt{suffix}")
    with pytest.raises(OSError, match=r"cut.txt.* cannot be read or decompressed"):
        ks.data.read_svmlight(path)
    with pytest.raises(OSError, match=r"plain.txt.* cannot be read or decompressed"):
        ks.data.read_svmlight(write(tmp_path, "1 qid:1 1:2\n", f"plain.txt{suffix}"))


def test_num_features_above_the_default_bound(tmp_path):
    path = write(tmp_path, "1 qid:1 150000:5\n")
    assert ks.data.read_svmlight(path, num_features=150_000).features[0, -1] == 5


def test_num_features(tmp_path, block):
    path = write(tmp_path, "1 qid:1 2:5\n1 qid:1 1:5\n")
    assert ks.data.read_svmlight(path).features.tolist() == [[0, 5], [5, 0]]
    assert ks.data.read_svmlight(path, num_features=3).features.tolist() == [[0, 5, 0], [5, 0, 0]]
    with pytest.raises(ValueError, match=r"train.txt, line 1: expected at most num_features=1 features, got '2:5'"):
        ks.data.read_svmlight(path, num_features=1)


def test_zero_based(tmp_path):
    text = as_text(random_lists([4]), first=0)
    same(ks.data.read_svmlight(write(tmp_path, text), zero_based=True), *slow_read(text, first=0))
    with pytest.raises(ValueError, match=r"line 1: expected indices of at least 1, got '0:.*zero_based=True"):
        ks.data.read_svmlight(write(tmp_path, "1 qid:1 0:5\n"))
    assert ks.data.read_svmlight(write(tmp_path, "1 qid:1 0:5 2:3\n"), zero_based=True).features.tolist() == [[5, 0, 3]]


def test_a_query_file(tmp_path, block):
    path, text = tmp_path / "train.txt", "1 1:2 2:3\n0\n2 2:5\n"
    write(tmp_path, text)
    with pytest.raises(ValueError, match=r"must name queries by qid: in its lines or by a file .*train.txt.query"):
        ks.data.read_svmlight(path)
    write(tmp_path, "1\n2\n", "train.txt.query")
    same(ks.data.read_svmlight(path), [[2, 3], [0, 0], [0, 5]], [1, 0, 2], [1, 2], None)
    other = write(tmp_path, "2\n\n1", "other")
    assert ks.data.read_svmlight(path, query_file=other).sizes.tolist() == [2, 1]
    write(tmp_path, "1\n3\n", "train.txt.query")
    with pytest.raises(ValueError, match=r"train.txt.query must add up to the 3 documents of .*train.txt, got 4"):
        ks.data.read_svmlight(path)
    for wrong in ("0", "-1", "two", "1.0"):
        write(tmp_path, f"3\n{wrong}\n", "other")
        with pytest.raises(ValueError, match=rf"other, line 2: expected a number of documents, .* got b'{wrong}'"):
            ks.data.read_svmlight(path, query_file=other)
    with pytest.raises(FileNotFoundError):
        ks.data.read_svmlight(path, query_file=tmp_path / "none")


def test_a_query_file_beside_queries_must_agree(tmp_path):
    path = write(tmp_path, "1 qid:5 1:2\n1 qid:5 1:2\n0 qid:6 1:1\n")
    write(tmp_path, "2\n1\n", "train.txt.query")
    assert ks.data.read_svmlight(path).query_ids.tolist() == [5, 6]
    write(tmp_path, "1\n2\n", "train.txt.query")
    with pytest.raises(ValueError, match=r"train.txt.query must agree with the 2 queries that qid: marks in .*train"):
        ks.data.read_svmlight(path)


def test_a_query_that_comes_again(tmp_path, block):
    path = write(tmp_path, "# made by hand\n1 qid:5 1:2\n0 qid:6 1:1\n\n1 qid:6 1:2\n0 qid:5 1:1\n0 qid:6 1:1\n")
    with pytest.raises(ValueError, match=r"train.txt, line 6: expected the lines .* qid:5 again, .* began in line 2"):
        ks.data.read_svmlight(path)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_no_documents(tmp_path, text):
    with pytest.raises(ValueError, match=r"train.txt must hold at least one document, got none"):
        ks.data.read_svmlight(write(tmp_path, text))


LABEL, PAIR = (
    r"expected a label that is a finite number of at least 0",
    r"expected INDEX:VALUE, an integer and a finite",
)
QUERY = r"expected an integer from -2\^63 to 2\^63 - 1 after qid:"
MALFORMED = {
    "nan qid:1 1:2": rf"{LABEL} .*got 'nan'",
    "-1 qid:1 1:2": rf"{LABEL} .*got '-1'",
    "1e300 qid:1 1:2": rf"{LABEL} .*got '1e300'",
    "good qid:1 1:2": rf"{LABEL} .*got 'good'",
    "1:2 2:3": rf"{LABEL} .*got '1:2'",
    "1 1:2": r"expected qid:ID after the label, as in the first line, got '1:2'",
    "1": r"expected qid:ID after the label, as in the first line, got nothing",
    "1 1:2 qid:1": r"expected qid:ID after the label, as in the first line, got '1:2'",
    "1 qid: 1:2": rf"{QUERY}, got ''",
    "1 qid:- 1:2": rf"{QUERY}, got '-'",
    "1 qid:--3 1:2": rf"{QUERY}, got '--3'",
    "1 qid:3-1 1:2": rf"{QUERY}, got '3-1'",
    "1 qid:-1.0 1:2": rf"{QUERY}, got '-1\.0'",
    "1 qid:1.0 1:2": rf"{QUERY}, got '1\.0'",
    "1 qid:1e3 1:2": rf"{QUERY}, got '1e3'",
    "1 qid:9223372036854775808 1:2": rf"{QUERY}, got '9223372036854775808'",
    "1 qid:-9223372036854775809 1:2": rf"{QUERY}, got '-9223372036854775809'",
    f"1 qid:{'7' * 100_000} 1:2": rf"expected an integer from .* got '{'7' * 60}' and 99940 more characters$",
    "1 qid:1 1:-.": rf"{PAIR} number, got '1:-\.'",
    "1 qid:1 1:+. 2:3": rf"{PAIR} number, got '1:\+\.'",
    "1 qid:1 100001:2": "expected at most 100000 features unless num_features allows more, got '100001:2'",
    "1 qid:1 999999999999999999:1": "expected at most 100000 features unless num_features allows more, got",
    "1 qid:1 qid:2 1:2": rf"{PAIR} number, got 'qid:2'",
    "1 qid:1 1:2 3": rf"{PAIR} number, got '3'",
    "1 qid:1 1 2:3": rf"{PAIR} number, got '1'",
    "1 qid:1 1:": rf"{PAIR} number, got '1:'",
    "1 qid:1 :1": rf"{PAIR} number, got ':1'",
    "1 qid:1 1 : 2": rf"{PAIR} number, got '1'",
    "1 qid:1 1:2:3": rf"{PAIR} number, got '1:2:3'",
    "1 qid:1 1:2+3 4:.": rf"{PAIR} number, got '1:2\+3'",  # as many numbers as in a right line
    "1 qid:1 1:--2": rf"{PAIR} number, got '1:--2'",
    "1 qid:1 1:1.2.3": rf"{PAIR} number, got '1:1\.2\.3'",
    "1 qid:1 1:1_0": rf"{PAIR} number, got '1:1_0'",
    "1 qid:1 1:0x1": rf"{PAIR} number, got '1:0x1'",
    "1 qid:1 1:NULL": rf"{PAIR} number, got '1:NULL'",
    "1 qid:1 1:nan": rf"{PAIR} number, got '1:nan'",
    "1 qid:1 1:-inf": rf"{PAIR} number, got '1:-inf'",
    "1 qid:1 1.0:2": rf"{PAIR} number, got '1\.0:2'",
    "1 qid:1 +1:2": rf"{PAIR} number, got '\+1:2'",
    "1 qid:1 1e0:2": rf"{PAIR} number, got '1e0:2'",
    "1 qid:1 1:2\x00": rf"{PAIR} number, got '1:2\\x00'",
    "1 qid:1 1:2é": rf"{PAIR} number, got '1:2é'",
    "1 qid:1 0:2": r"expected indices of at least 1, got '0:2'",
    "1 qid:1 2:1 2:1": r"expected strictly increasing indices, got '2:1' after 2",
    "1 qid:1 2:1 1:1": r"expected strictly increasing indices, got '1:1' after 2",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_malformed_lines(tmp_path, monkeypatch, line):
    for size in (2**23, 1):
        monkeypatch.setattr(svmlight, "READ_BYTES", size)
        path = write(tmp_path, f"# by hand\n\n0 qid:1 1:1 3:2\n{line}\n0 qid:1 also:wrong\n")
        with pytest.raises(ValueError, match=rf"train.txt, line 4: {MALFORMED[line]}"):
            ks.data.read_svmlight(path)


def test_any_white_space_separates(tmp_path):
    path = write(tmp_path, "\f2\vqid:1\v1:2\f\v2:3\v\n1 qid:1\r3:4 \r\n")
    lists = ks.data.read_svmlight(path)
    same(lists, [[2, 3, 0], [0, 0, 4]], [2, 1], [2], [1])


def test_a_query_in_some_lines_alone(tmp_path):
    with pytest.raises(ValueError, match="line 2: expected no qid:, as in the first line, got 'qid:3'"):
        ks.data.read_svmlight(write(tmp_path, "1 1:2\n1 qid:3 1:2\n"))


DECIMAL = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"


def is_valid(line, queries, most):
    """Whether a line follows the rules, one part after another."""
    label, *pairs = line.split()
    if not re.fullmatch(DECIMAL, label) or not 0 <= float(label) <= LARGEST:
        return False
    if (bool(pairs) and pairs[0].startswith("qid:")) != queries:
        return False
    if queries and not re.fullmatch(r"qid:[-+]?\d{1,18}", pairs.pop(0)):
        return False
    if not all(re.fullmatch(rf"\d{{1,18}}:{DECIMAL}", pair) for pair in pairs):
        return False
    indices = [int(pair.partition(":")[0]) for pair in pairs]
    return indices == sorted(set(indices)) and all(1 <= index <= most for index in indices)


@pytest.mark.parametrize("queries", [True, False])
def test_a_block_is_right_where_each_line_is(queries):
    """A few characters of right texts change. A block that is accepted is read as its lines are one by one."""
    random = np.random.default_rng(9)
    lists = random_lists([3, 2], features=4)
    right = as_text(lists, form="{:.3g}")
    if not queries:
        right = "\n".join(" ".join(word for word in line.split(" ") if "q" not in word) for line in right.split("\n"))
    found = {True: 0, False: 0}
    for trial in range(600):
        num_features = 4 if trial % 2 else None
        characters = list(right)
        for place in random.integers(len(characters), size=random.integers(1, 4)):
            characters[place] = random.choice(list("0123456789.-+e: :qid\n_n"))
        lines = [line for line in "".join(characters).split("\n") if line.strip()]
        valid = all(is_valid(line, queries, num_features or 100_000) for line in lines)
        parts = [line.encode() for line in lines]
        found[valid] += 1
        if not valid:
            with pytest.raises(ValueError, match="expected"):
                svmlight.parse_lines(parts, with_query=queries, first=1, num_features=num_features)
            continue
        block = svmlight.parse_lines(parts, with_query=queries, first=1, num_features=num_features)
        if queries:
            features, labels, *_ = slow_read("\n".join(lines), width=block.features.shape[1])
            np.testing.assert_allclose(block.features, features, rtol=1e-7)
            assert block.labels.tolist() == np.float32(labels).tolist()
    assert min(found.values()) > 50


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_features": 0}, ValueError, "num_features must be at least 1, got 0"),
        ({"num_features": "3"}, TypeError, "num_features must be an integer, got '3'"),
        ({"zero_based": 1}, TypeError, "zero_based must be True or False, got 1"),
    ],
)
def test_bad_arguments(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        ks.data.read_svmlight(write(tmp_path, "1 qid:1 1:2\n"), **arguments)

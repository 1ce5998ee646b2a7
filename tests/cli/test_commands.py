"""The commands, in this process: files in; tables, JSON, models and exit codes out."""

import csv
import io
import json
from importlib.resources import files

import numpy as np
import pytest

import mercer as package
from mercer.cli.app import mercer_command
from mercer.data import read_svmlight, read_table

BUNDLED = files("mercer.datasets") / "data"
IONOSPHERE, PROMOTERS = BUNDLED / "ionosphere.csv", BUNDLED / "promoters.csv"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# --- train ------------------------------------------------------------------------------------------------


def test_train_and_predict(mercer, tmp_path):
    said = mercer("train", IONOSPHERE, "-t", "class", "-o", "ion.mercer")
    assert said.code == 0
    names = [line.split("  ")[0].strip() for line in said.out.splitlines()]
    assert names == [
        "task", "samples", "columns", "classes", "machine", "kernel", "test error", "certificate", "support vectors",
        "time", "model",
    ]  # fmt: skip
    assert "263 to learn from, 88 held out" in said.out and "solved, relative gap" in said.out
    assert not any(line != line.rstrip() for line in said.out.splitlines())
    told = mercer("predict", "ion.mercer", IONOSPHERE)
    assert told.code == 0 and told.err.startswith("error ")
    predictions = [row["prediction"] for row in rows_of(told.out)]
    model = package.load("ion.mercer")
    assert predictions == model.predict(read_table(IONOSPHERE)).tolist()


def test_the_held_out_part_is_the_same_for_a_seed(mercer):
    first, again = (mercer("train", IONOSPHERE, "-t", "class", "--json").json for _ in range(2))
    other = mercer("train", IONOSPHERE, "-t", "class", "--json", "--seed", 1).json
    assert first["test"] == again["test"] and first["certificate"]["objective"] == again["certificate"]["objective"]
    assert other["certificate"]["objective"] != first["certificate"]["objective"]
    shares = first["data"]["classes"]
    assert shares == {"bad": 126, "good": 225} and first["data"]["n_test"] == 88


def test_the_error_is_that_of_the_model_on_what_was_held_out(mercer, tmp_path):
    from sklearn.model_selection import train_test_split

    told = mercer("train", IONOSPHERE, "-t", "class", "--json", "-o", "m.mercer").json
    table = read_table(IONOSPHERE)
    y = np.array(table["class"].tolist())
    _, test = train_test_split(np.arange(351), test_size=0.25, random_state=0, stratify=y)
    part = {name: values[test] for name, values in table.items()}
    wrong = int((package.load("m.mercer").predict(part) != y[test]).sum())
    assert told["test"]["wrong"] == wrong and told["test"]["low"] < wrong / 88 < told["test"]["high"]


def test_mixed_table(mercer, mixed):
    told = mercer("train", mixed, "-t", "ill", "--json", "-o", "m.mercer").json
    assert told["data"]["columns"] == {
        "id": "identifier", "age": "numeric", "bmi": "numeric", "city": "categorical", "note": "text",
    }  # fmt: skip
    assert told["data"]["missing"] == {"age": 1, "city": 1}  # of the file, not only of the part that is learnt from
    assert "On(columns=['age', 'bmi', 'city'], kernel=RBF())" in told["kernel"] and "Spectrum" in told["kernel"]
    assert told["test"]["value"] <= 0.2
    assert mercer("predict", "m.mercer", mixed, "-q").code == 0
    own = mercer(
        "train", mixed, "-t", "ill", "--json", "-k", "On(['age', 'city'], RBF(gamma=0.5)) + On('note', Spectrum(2))"
    )
    assert own.code == 0 and "gamma=0.5" in own.json["kernel"]


def test_kernel_of_one_kind_of_columns(mercer, mixed):
    strings = mercer("train", mixed, "-t", "ill", "--json", "-k", "Spectrum(2)").json["kernel"]
    assert "RBF()" in strings and "Spectrum(p=2)" in strings
    vectors = mercer("train", mixed, "-t", "ill", "--json", "-k", "linear").json["kernel"]
    assert "Linear()" in vectors and "Normalized(kernel=Spectrum())" in vectors


def test_regression_has_units_of_its_target(mercer, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=120)
    for unit in (1.0, 1e4):
        y = unit * (np.sin(x) + 0.1 * rng.normal(size=120))
        lines = [f"{a:.6f},{b:.6f}" for a, b in zip(x, y, strict=True)]
        (tmp_path / "v.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
        told = mercer("train", tmp_path / "v.csv", "-t", "y", "--json").json
        assert told["task"] == "regression" and told["machine"] == "SVR"
        assert told["test"]["r2"] > 0.9
        assert told["test"]["low"] < told["test"]["value"] < told["test"]["high"] < 0.5 * told["test"]["trivial"]


def test_whole_numbers_are_classes_if_few(mercer, tmp_path):
    for values, task in [(range(3), "classification"), (range(40), "regression")]:
        lines = [f"{k * 0.37 % 1:.4f},{values[k % len(values)]}" for k in range(80)]
        (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
        assert mercer("train", "t.csv", "-t", "y", "--json").json["task"] == task
    assert mercer("train", "t.csv", "-t", "y", "--json", "--task", "classification").json["machine"] == "SVC"


def test_novelty(mercer):
    said = mercer("train", IONOSPHERE, "--novelty", "--ignore", "class", "-p", "nu=0.1", "--json", "-o", "n.mercer")
    assert said.code == 0 and said.json["machine"] == "OneClassSVM" and said.json["test"]["name"] == "outside"
    assert said.json["data"]["columns"]["class"] == "identifier"
    assert mercer("train", IONOSPHERE, "--novelty", "--json").json["parameters"] == {"nu": 0.1}
    said = mercer("train", IONOSPHERE, "--novelty", "-t", "class")
    assert said.out.startswith("task              novelty, without 'class'\n")
    told = mercer("predict", "n.mercer", IONOSPHERE)
    assert {row["prediction"] for row in rows_of(told.out)} == {"1", "-1"} and told.err.startswith("novel ")


def test_tuned_probabilities(mercer):
    said = mercer("train", PROMOTERS, "-t", "class", "--tune", "--probability", "--json", "-o", "p.mercer")
    assert said.code == 0 and said.json["search"]["complete"] and said.json["search"]["n_splits"] == 5
    rows = rows_of(mercer("predict", "p.mercer", PROMOTERS, "--probability", "--decision", "-q").out)
    assert list(rows[0]) == ["prediction", "decision", "probability other", "probability promoter"]
    for row in rows:
        assert (
            (row["prediction"] == "promoter")
            == (float(row["probability promoter"]) > 0.5)
            == (float(row["decision"]) > 0)
        )


def test_tune_says_where_the_best_is_at_the_edge(mercer):
    tune = ["tune", IONOSPHERE, "-t", "class", "--cv", 3]
    said = mercer(*tune, "--grid", "C=0.001,0.01,4", "--grid", "kernel__gamma=0.001,0.05,10", "--json")
    assert said.json["search"]["at_edge"] == ["C"]
    said = mercer(*tune, "--grid", "C=0.001,0.01,4", "--grid", "loss=hinge,squared_hinge")
    assert "; C at the edge of what was tried\n" in said.out
    assert "edge" not in mercer(*tune, "--grid", "C=0.001,4,1e9").out


def test_tune_shows_the_best_cells(mercer):
    said = mercer(
        "tune", IONOSPHERE, "-t", "class", "--grid", "C=1,8", "--grid", "kernel__gamma=0.03,0.1", "--top", 3, "--cv", 3
    )
    assert said.code == 0 and "4 cells, 3 folds" in said.out
    head, *cells = said.out.splitlines()[-4:]
    assert head.split() == ["rank", "C", "kernel__gamma", "score", "±"] and len(cells) == 3
    scores = [float(line.split()[3]) for line in cells]
    assert scores == sorted(scores, reverse=True)
    told = mercer("tune", IONOSPHERE, "-t", "class", "--grid", "C=1,8", "--cv", 3, "--json").json
    assert [cell["params"] for cell in told["cells"]] and told["cells"][0]["score"] == told["search"]["best_score"]


def test_other_machines_and_refit(mercer):
    said = mercer("train", IONOSPHERE, "-t", "class", "--machine", "lssvc", "--json", "--refit", "-o", "m.mercer")
    assert said.code == 0 and said.json["machine"] == "LSSVC" and said.json["data"]["n_train"] == 351
    assert mercer("train", IONOSPHERE, "-t", "class", "--test", 0, "--json").json["test"] is None


@pytest.mark.parametrize("machine", ["RelevanceVectorRegressor", "GaussianProcessRegressor"])
def test_a_local_optimum_is_a_good_end(mercer, tmp_path, machine):
    rng = np.random.default_rng(0)
    lines = [f"{a},{b},{a + b * b + rng.normal(0, 0.1)}" for a, b in rng.normal(size=(40, 2))]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    said = mercer("train", "t.csv", "-t", "y", "--machine", machine, "--json")
    assert (said.code, said.json["certificate"]["status"]) == (0, "local")


def test_unsolved_is_a_code_of_its_own(mercer):
    said = mercer("train", IONOSPHERE, "-t", "class", "-p", "max_iter=1", "--json")
    assert said.code == 5 and said.json["certificate"]["status"] == "max_iter" and "warning" in said.err


# --- other formats ----------------------------------------------------------------------------------------


def test_a_fit_goes_on_from_its_checkpoint(mercer, tmp_path):
    train = ("train", IONOSPHERE, "-t", "class", "--json", "--checkpoint", "fit.checkpoint")
    stopped = mercer(*train, "-p", "max_iter=10", "-o", "m.mercer")
    assert stopped.code == 5 and (tmp_path / "fit.checkpoint").exists()
    assert package.load(tmp_path / "m.mercer").steps[-1][1].checkpoint is None
    other = mercer(*train, "-C", "3")
    assert other.code == 1 and "is of a fit with other parameters (C)" in other.err
    solved = mercer(*train)
    assert solved.code == 0 and solved.json["certificate"]["status"] == "solved"
    assert not (tmp_path / "fit.checkpoint").exists()


def test_formats_agree(mercer):
    assert mercer("convert", IONOSPHERE, "i.svm", "--target", "class").code == 0
    assert mercer("convert", IONOSPHERE, "i.tsv").code == 0
    assert mercer("convert", IONOSPHERE, "i.parquet").code == 0
    X, y = read_svmlight("i.svm")
    table = read_table(IONOSPHERE)
    assert (
        np.array_equal(X.toarray()[:, 2], table["V3"]) and y.tolist() == (table["class"] == "good").astype(int).tolist()
    )
    objectives = [
        mercer("train", path, "-t", "class", "--json").json["certificate"]["objective"]
        for path in (IONOSPHERE, "i.tsv", "i.parquet")
    ]
    assert len(set(objectives)) == 1
    said = mercer("train", "i.svm", "--json", "-o", "i.mercer")
    assert said.json["data"]["kind"] == "vectors" and said.json["data"]["n_features"] == 34
    assert mercer("predict", "i.mercer", "i.svm", "-q").code == 0
    for scale in ("standard", "minmax"):
        scaled = mercer("train", "i.svm", "--json", "--scale", scale, "-o", "s.mercer").json
        assert scaled["certificate"]["objective"] != said.json["certificate"]["objective"]
        assert mercer("predict", "s.mercer", "i.svm", "-q").code == 0
    assert mercer("train", PROMOTERS, "-t", "class", "--scale", "minmax", "-q").code == 0
    assert mercer("convert", "i.svm", "back.csv").code == 0
    assert np.array_equal(read_table("back.csv")["V5"], table["V5"])


def test_sequences(mercer, tmp_path):
    assert mercer("convert", PROMOTERS, "p.fasta", "-t", "class").code == 0
    told = mercer("train", "p.fasta", "--json", "-o", "p.mercer").json
    assert told["data"]["kind"] == "text" and "WeightedDegree" in told["kernel"] and told["test"]["value"] < 0.2
    assert mercer("predict", "p.mercer", "p.fasta", "-q").code == 0
    sequences = (tmp_path / "p.fasta").read_text().splitlines()
    (tmp_path / "bare.fasta").write_text("\n".join(line.split()[0] for line in sequences) + "\n")
    (tmp_path / "labels.txt").write_text("".join(f"{line[1:]}\n" for line in sequences if line.startswith(">")))
    again = mercer("train", "bare.fasta", "--labels", "labels.txt", "--json").json
    assert again["test"] == told["test"]
    assert mercer("train", "bare.fasta").code == 3


def test_words_of_headers_are_the_truth_only_where_they_can_be(mercer, tmp_path):
    headers = [f">s{k}" for k in range(20)]
    words = ["coding" if k % 2 else "other" for k in range(20)]

    def written(name, ends):
        lines = [
            f"{h} {e}\n{'ac' * 5 if k % 2 else 'gt' * 5}\n" for k, (h, e) in enumerate(zip(headers, ends, strict=True))
        ]
        (tmp_path / name).write_text("".join(lines))
        return name

    assert mercer("train", written("t.fasta", words), "-o", "m.mercer", "-q").code == 0
    said = mercer("predict", "m.mercer", "t.fasta")
    assert said.code == 0 and said.err.startswith("error ")
    for ends in (
        ["a hypothetical protein"] * 20,  # descriptions
        [*words[:10], *[""] * 10],
        [*words[:19], "unknown"],
    ):
        said = mercer("predict", "m.mercer", written("new.fasta", ends))
        assert (said.code, said.err) == (0, "") and len(rows_of(said.out)) == 20
    (tmp_path / "labels.txt").write_text("".join(f"s{k} {word}\n" for k, word in enumerate(words)))
    assert mercer("predict", "m.mercer", "new.fasta", "--labels", "labels.txt").err.startswith("error ")


def test_samples_keep_their_names(mercer, mixed, tmp_path):
    assert mercer("train", mixed, "-t", "ill", "-o", "m.mercer", "-q").code == 0
    said = mercer("predict", "m.mercer", mixed)
    assert said.out.startswith("id,prediction\n") and [row["id"] for row in rows_of(said.out)] == list(
        map(str, range(60))
    )
    assert mercer("predict", "m.mercer", mixed, "--json").json["names"] == list(map(str, range(60)))
    mixed.write_text(mixed.read_text().replace("\n1,", "\n0,"))  # twice the same: no name
    assert mercer("predict", "m.mercer", mixed).out.startswith("prediction\n")
    (tmp_path / "s.csv").write_text("name,sequence,class\ngene a,acgt,x\ngene b,ggta,y\n")
    assert mercer("convert", "s.csv", "s.fasta", "-t", "class").code == 0
    assert (tmp_path / "s.fasta").read_text() == ">gene_a x\nacgt\n>gene_b y\nggta\n"
    for name in ("back.csv", "again.fasta"):
        assert mercer("convert", "s.fasta", name).code == 0
    assert (tmp_path / "back.csv").read_text() == "id,sequence,class\ngene_a,acgt,x\ngene_b,ggta,y\n"
    assert (tmp_path / "again.fasta").read_text() == (tmp_path / "s.fasta").read_text()
    (tmp_path / "half.fasta").write_text(">a x\nac\n>b\ngt\n")
    assert mercer("convert", "half.fasta", "half.csv").code == 0
    assert (tmp_path / "half.csv").read_text() == "id,sequence,class\na,ac,x\nb,gt,\n"
    said = mercer("convert", IONOSPHERE, "i.fasta")
    assert said.code == 3 and "has no column of sequences; --text COLUMN says which it is" in said.err
    said = mercer("convert", IONOSPHERE, "i.svm")
    assert said == (0, "", "'class' by number: 0 is 'bad', 1 is 'good'\n")


def test_new_categories_are_named(mercer, tmp_path):
    rows = "".join(f"{k},q{k % 2},{'ab'[k % 2]}\n" for k in range(20))
    (tmp_path / "t.csv").write_text(f"x,z,class\n{rows}")
    assert mercer("train", "t.csv", "-t", "class", "-o", "m.mercer", "-q").code == 0
    (tmp_path / "new.csv").write_text("x,z\n1,q1\n2,lila\n3,\n")
    said = mercer("predict", "m.mercer", "new.csv")
    assert (said.code, said.err) == (0, "new.csv: 'z' has 1 value ('lila') that the training had not\n")
    assert mercer("predict", "m.mercer", "new.csv", "-q").err == ""


def test_graphs(mercer, tmp_path):
    rng = np.random.default_rng(1)
    folder = tmp_path / "RINGS"
    folder.mkdir()
    arcs, owner, labels, node = [], [], [], 0
    for g in range(24):
        size = 4 + int(rng.integers(0, 4))
        edges = [(i, (i + 1) % size) for i in range(size - g % 2)]  # rings and paths
        arcs += [f"{node + i + 1}, {node + j + 1}\n{node + j + 1}, {node + i + 1}\n" for i, j in edges]
        owner += [f"{g + 1}\n"] * size
        labels.append(f"{g % 2}\n")
        node += size
    for part, lines in (("A", arcs), ("graph_indicator", owner), ("graph_labels", labels)):
        (folder / f"RINGS_{part}.txt").write_text("".join(lines))
    told = mercer("train", folder, "--json", "-o", "r.mercer").json
    assert told["data"]["kind"] == "graphs" and "WeisfeilerLehman" in told["kernel"] and told["test"]["wrong"] == 0
    assert mercer("predict", "r.mercer", folder, "-q").code == 0
    (folder / "RINGS_A.txt").write_text("1, 2\n2, 900\n")
    said = mercer("train", folder)
    assert said.code == 3 and said.err.startswith(f"mercer: {folder / 'RINGS_A.txt'}, line 2: ")


def test_standard_input(mercer, monkeypatch):
    mercer("train", IONOSPHERE, "-t", "class", "-o", "m.mercer", "-q")
    lines = IONOSPHERE.read_text().splitlines(keepends=True)

    class Input:
        buffer = io.BytesIO("".join(lines[:4]).encode())

    monkeypatch.setattr("sys.stdin", Input)
    assert len(rows_of(mercer("predict", "m.mercer", "-").out)) == 3


def test_convert_models(mercer, tmp_path):
    from pathlib import Path

    fixtures = Path(__file__).parents[1] / "compat" / "libsvm_files"
    assert mercer("convert", fixtures / "s0_t2.model", "m.mercer").code == 0
    assert mercer("convert", "m.mercer", "m.model").code == 0
    theirs = np.loadtxt(fixtures / "s0_t2.out")
    for model in ("m.mercer", "m.model", fixtures / "s0_t2.model"):
        said = mercer("predict", model, fixtures / "classes.svm")
        assert [float(row["prediction"]) for row in rows_of(said.out)] == theirs.tolist()
    mercer("train", IONOSPHERE, "-t", "class", "-o", "t.mercer", "-q")
    said = mercer("convert", "t.mercer", "t.model")
    assert said.code == 4 and "prepares its samples" in said.err and not (tmp_path / "t.model").exists()
    text = (fixtures / "s0_t2.model").read_text()
    (tmp_path / "damaged.model").write_text(text.replace("1:-1.061", "1:x"))
    for command in (
        ["predict", "damaged.model", fixtures / "classes.svm"],
        ["inspect", "damaged.model"],
        ["convert", "damaged.model", "d.mercer"],
        ["libsvm", "predict", fixtures / "classes.svm", "damaged.model", "out"],
    ):
        said = mercer(*command)
        assert said.code == 4 and "damaged.model, line 10: 'x'" in said.err
    assert mercer("convert", IONOSPHERE, "x.xyz").code == 2
    assert mercer("convert", "m.mercer", "m.csv").code == 2


# --- what goes wrong --------------------------------------------------------------------------------------

MANY = "".join(f"{k},{'a' if k % 2 else 'b'}\n" for k in range(20))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.csv", b"x,class\n1,a\n2\n", "line 3: 1 field, where the first line has 2"),
        ("t.csv", b"x,class\n1,a,9\n", "line 2: 3 fields"),
        ("t.csv", f"x,class\n{MANY}oops,a\n".encode(), "line 22: column 'x': 'oops' is no number, though 20 of the 21"),
        ("t.csv", f"x,class\n{MANY}inf,a\n".encode(), "line 22: column 'x': 'inf' is no finite number"),
        ("t.csv", b"x,x,class\n1,2,a\n", "line 1: columns 1 and 2 are both called 'x'"),
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"x,class\n", "no rows below the names"),
        ("t.csv", b"x,class\n\0\1\2\n", "line 2: this is no text"),
        ("t.csv", "name,class\nMüller,a\n".encode("latin1"), "line 2: byte 0xfc is not UTF-8"),
        ("t.csv", b"x,class\n1,a\n2,a\n3,a\n4,a\n5,a\n", "All 5 samples of t.csv have the class a"),
        ("t.csv", f"x,class\n{MANY}3,\n".encode(), "line 22: the target 'class' is missing"),
        ("t.csv", b'x,class\n1,a\n"2,b\n', "line 3: a quote is not closed"),
        ("t.svm", b"1 1:2\n-1 3:1 2:1\n", "line 2: feature 2 follows feature 3"),
        ("t.svm", b"1 1:2\nx 1:1\n", "line 2: the target 'x' is no number"),
        ("t.svm", b"1 1:2\n1 1=1\n", "line 2: '1=1' is no entry"),
        ("t.svm", b"1 1:2\n1 1:nan\n", "is no finite number"),
        ("t.svm", b"1 0:2\n", "feature 0, where numbers begin with 1"),
        ("t.svm", b"# nothing\n", "no samples"),
        ("t.fasta", b"acgt\n", "line 1: letters before the first header"),
        ("t.fasta", b">a x\n>b y\nac\n", "line 1: there are no letters below"),
        ("t.fasta", b">a x\nac\n>a y\nac\n", "line 3: the name 'a' is that of line 1"),
        ("t.fasta", b">a x\nac\n>b\nac\n", "line 3: this header has no label"),
        ("t.parquet", b"PAR1 and then nothing", "no readable Parquet file"),
        ("t.csv.gz", b"\x1f\x8b\x08\0\0\0\0\0", "the gzipped file is damaged"),
    ],
)
def test_bad_files(mercer, tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    said = mercer("train", name, *(["-t", "class"] if "csv" in name or "parquet" in name else []), "-o", "m.mercer")
    assert said.code == 3, said.err
    assert reason in said.err and said.err.startswith("mercer: ") and said.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["-t", "clas"], 2, "no column 'clas'; did you mean 'class'?"),
        ([], 2, "Which column is to be learnt? --target COLUMN; perhaps 'class'"),
        (["-t", "class", "-C", "-1"], 2, "C must be a float > 0, got -1.0."),
        (["-t", "class", "-k", "RFB()"], 2, "There is no kernel 'RFB'; did you mean 'RBF'?"),
        (["-t", "class", "-k", "RBF(gama=2)"], 2, "RBF has no parameter 'gama'; it has gamma."),
        (["-t", "class", "-k", "Linear(a=2)"], 2, "Linear has no parameter 'a'; it has none."),
        (["-t", "class", "-k", "RBF.from_sigma(s=2)"], 2, "from_sigma has no parameter 's'; it has sigma."),
        (["-t", "class", "-p", "foo=1"], 2, "SVC has no parameter 'foo'"),
        (["-t", "class", "-p", "foo"], 2, "--param must be NAME=VALUE, got 'foo'"),
        (
            ["-t", "class", "--machine", "SVR"],
            2,
            "no machine 'SVR' for classification; there are AnalyticCenterMachine",
        ),
        (["-t", "class", "--task", "regression"], 3, "ionosphere.csv has 'bad': use --task"),
        (["-t", "class", "-k", "Spectrum(3)"], 2, "ionosphere.csv has numbers."),
        (["-t", "result"], 2, "ionosphere.csv has no column 'result'; perhaps 'class'."),
        (["-t", "class", "-o", "nowhere/m.mercer"], 2, "There is no folder"),
        (["-t", "class", "--numeric", "nix"], 2, "ionosphere.csv has no column 'nix'; there are 'V1', 'V2'"),
        (["-t", "class", "--ignore", "v17"], 2, "has no column 'v17'; did you mean 'V17'"),
        (["-t", "class", "--delimiter", "ab"], 2, "--delimiter must be one character, or 'tab', got 'ab'"),
        (["-t", "class", "--delimiter", ""], 2, "--delimiter must be one character"),
        (["-t", "class", "--labels", IONOSPHERE], 2, "--labels is for FASTA files"),
        (["-t", "class", "--test", "0.999"], 3, "351 samples are too few to hold out the share 0.999"),
        (["-t", "class", "-k", "Matern(nu=0)"], 2, "nu must be a float > 0, got 0"),
        (["-t", "class", "-k", "RBF(gamma=-1).normalized() + Linear()"], 2, "gamma must be a float >= 0"),
        (["-t", "class", "-p", "kernel=rbf"], 2, "the kernel is given by --kernel"),
        (["-t", "class", "--test", "1.5"], 2, "1.5 is not in the range"),
        (["-t", "class", "-p", "C=inf", "-k", "linear"], 1, "not separable"),
        (["-t", "class", "--checkpoint", "c", "--tune"], 2, "--checkpoint is for one fit; a search has a --journal"),
        (["-t", "class", "--checkpoint", "c", "--refit"], 2, "--checkpoint is for one fit; --refit makes two"),
        (["-t", "class", "--checkpoint", "c", "--machine", "LPClassifier"], 2, "LPClassifier has none"),
        (["-t", "class", "--checkpoint", "nowhere/c"], 1, "cannot be written: there is no folder"),
    ],
)
def test_bad_wishes(mercer, arguments, code, reason):
    said = mercer("train", IONOSPHERE, *arguments)
    assert (said.code, said.out) == (code, "")
    assert reason in said.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--grid", "foo=1,2"], "SVC has no parameter 'foo'; there are"),
        (["--grid", "kernel__gama=1,2"], "SVC has no parameter 'kernel__gama'; did you mean 'kernel__gamma'"),
        (["--grid", "C=1,-1"], "C must be a float > 0, got -1"),
        (["--grid", "C=1,much"], "C must be a float > 0, got 'much'"),
        (["--grid", "kernel__gamma=-1"], "gamma must be a float >= 0"),
        (["--scoring", "acuracy"], "There is no score 'acuracy'; did you mean 'accuracy'"),
    ],
)
def test_bad_searches(mercer, arguments, reason):
    said = mercer("tune", IONOSPHERE, "-t", "class", *arguments)
    assert (said.code, said.out) == (2, "") and reason in said.err


@pytest.mark.parametrize(
    ("name", "content", "kernel", "reason"),
    [
        ("t.csv", "note,class\nabcd,a\nbcda,b\ncabd,a\ndcba,b\n", "RBF()", "works on vectors; t.csv has texts."),
        ("t.csv", "x,class\n1,a\n2,b\n3,a\n4,b\n", "WeisfeilerLehman()", "works on graphs; t.csv has numbers."),
        ("t.fasta", ">a x\nac\n>b y\nca\n>c x\nac\n>d y\nca\n", "RBF()", "works on vectors; t.fasta has sequences."),
        ("t.svm", "1 1:1\n2 1:2\n" * 2, "On('x', RBF())", "works on columns of a table; t.svm has vectors."),
    ],
)
def test_kernels_on_files_of_other_kinds(mercer, tmp_path, name, content, kernel, reason):
    (tmp_path / name).write_text(content)
    said = mercer("train", name, "-k", kernel, *(["-t", "class"] if name == "t.csv" else []))
    assert said.code == 2 and reason in said.err


def test_tables_with_nothing_to_learn_from(mercer, tmp_path):
    (tmp_path / "t.csv").write_text("class\na\nb\na\nb\n")
    said = mercer("train", "t.csv", "-t", "class")
    assert said.code == 3 and "t.csv has no column to learn from: 'class' is the target." in said.err
    (tmp_path / "t.csv").write_text("id,class\n1,a\n2,b\n3,a\n4,b\n")
    said = mercer("train", "t.csv", "-t", "class")
    assert said.code == 3 and "no column to learn from: 'id' is left out and 'class' is the target." in said.err


def test_a_truth_of_other_classes_is_none(mercer, tmp_path):
    rows = [f"{k},q{k % 2},{'ab'[k % 2]}" for k in range(20)]
    (tmp_path / "t.csv").write_text("x,z,class\n" + "\n".join(rows) + "\n")
    assert mercer("train", "t.csv", "-t", "class", "-o", "m.mercer", "-q").code == 0
    said = mercer("predict", "m.mercer", "t.csv", "-t", "z")
    assert (said.code, said.out) == (3, "")
    assert "The column 'z' of t.csv has none of the model's classes, 'a', 'b', but 'q0'." in said.err
    (tmp_path / "new.csv").write_text("x,z,class\n1,q1,unknown\n2,q0,unknown\n")
    said = mercer("predict", "m.mercer", "new.csv")
    assert said.code == 0 and len(rows_of(said.out)) == 2 and said.err.endswith("but 'unknown'. Nothing is judged.\n")
    assert mercer("train", "t.csv", "-t", "x", "--task", "regression", "-o", "r.mercer", "-q").code == 0
    said = mercer("predict", "r.mercer", "t.csv", "-t", "class")
    assert said.code == 3 and "The column 'class' of t.csv has no numbers to compare with, but 'a'." in said.err


def test_models_that_do_not_fit(mercer, mixed, tmp_path):
    mercer("train", IONOSPHERE, "-t", "class", "-o", "m.mercer", "-q")
    said = mercer("predict", "m.mercer", PROMOTERS)
    assert said.code == 4 and "no column 'V1', 'V2'" in said.err and "and 24 others, which m.mercer needs" in said.err
    table = IONOSPHERE.read_text().replace("V17", "v_17", 1)
    (tmp_path / "renamed.csv").write_text(table)
    said = mercer("predict", "m.mercer", "renamed.csv")
    assert said.code == 4 and "no column 'V17', which m.mercer needs; did you mean 'v_17'" in said.err
    said = mercer("predict", "m.mercer", "m.mercer")
    assert said.code == 3
    assert mercer("predict", "m.mercer", IONOSPHERE, "--probability").code == 4
    (tmp_path / "x.svm").write_text("1 1:1\n")
    assert mercer("predict", "m.mercer", "x.svm").code == 4
    damaged = (tmp_path / "m.mercer").read_bytes()[:-100]
    (tmp_path / "d.mercer").write_bytes(damaged)
    assert mercer("predict", "d.mercer", IONOSPHERE).code == 4
    assert mercer("inspect", IONOSPHERE).code == 4


def test_predict_asks_for_the_kinds_of_the_training(mercer, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,z,class\n" + "".join(f"{k},q{k % 2},{'ab'[k % 2]}\n" for k in range(20)))
    assert mercer("train", "t.csv", "-t", "class", "-o", "m.mercer", "-q").code == 0
    (tmp_path / "new.csv").write_text("z,x\nq0,1\nq1,two\n7,\n")
    said = mercer("predict", "m.mercer", "new.csv")
    assert said.code == 3 and "line 3: column 'x': 'two' is no number." in said.err
    (tmp_path / "new.csv").write_text("z,x\n7,1\n8,\n")
    said = mercer("predict", "m.mercer", "new.csv")  # categories that were never seen, a number that is missing
    assert said.code == 0 and len(rows_of(said.out)) == 2
    # From the standard input, too, of which there is nothing to read a second time.
    for text, code in (("z,x\n7,1\n8,\n", 0), ("z,x\nq0,1\nq1,two\n7,\n", 3)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        said = mercer("predict", "m.mercer", "-")
        assert said.code == code and (code == 0 or "standard input, line 3: column 'x'" in said.err)


def test_test_data_has_the_columns_and_kinds_of_the_training(mercer, tmp_path):
    rows = "".join(f"{k},q{k % 2},{'ab'[k % 2]}\n" for k in range(20))
    (tmp_path / "t.csv").write_text(f"x,z,class\n{rows}")
    for text, code, reason in [
        ("x,class\n1,a\n2,b\n", 3, "new.csv has no column 'z', which t.csv needs"),
        ("x,z,class\n1,q0,a\ntwo,q1,b\n", 3, "new.csv, line 3: column 'x': 'two' is no number"),
        ("class,z,x\na,q0,1\nb,q1,2\n", 0, ""),
    ]:
        (tmp_path / "new.csv").write_text(text)
        said = mercer("train", "t.csv", "-t", "class", "--test-data", "new.csv")
        assert said.code == code and reason in said.err
    assert "20 rows of t.csv; 2 of new.csv to test on\n" in said.out


def test_decimal_commas(mercer, tmp_path):
    rows = "".join(f"{k % 7},5;{k % 3},{k % 2};{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(f"x;code;class\n{rows}")
    said = mercer("train", "t.csv", "-t", "class")
    assert said.code == 3 and "t.csv, line 2: column 'x': '0,5' has a decimal comma" in said.err
    said = mercer("train", "t.csv", "-t", "class", "--decimal", ",", "--json")
    assert said.code == 0 and said.json["data"]["columns"] == {"x": "numeric", "code": "numeric"}
    asked = ["--categorical", "code", "--text", "x", "-o", "m.mercer", "-q"]
    assert mercer("train", "t.csv", "-t", "class", *asked).code == 0
    said = mercer("predict", "m.mercer", "t.csv")  # the model knows that these are no numbers
    assert said.code == 0 and said.err.startswith("error 0.0 %")
    (tmp_path / "v.svm").write_text("1 1:2\n-1 1:3\n")
    said = mercer("train", "v.svm", "--decimal", ",")
    assert said.code == 2 and "--decimal is for tables" in said.err
    said = mercer("train", "t.csv", "-t", "class", "--decimal", ",", "--delimiter", ",")
    assert said.code == 2 and "--decimal and --delimiter are both ','" in said.err


def test_what_is_ignored_may_hold_anything(mercer, tmp_path):
    rows = "".join(f"{k % 7},{k},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(f"x,b,class\n{rows}3,foo,a\n")
    assert "'foo' is no number" in mercer("train", "t.csv", "-t", "class").err
    said = mercer("train", "t.csv", "-t", "class", "--ignore", "b", "-o", "m.mercer", "--json")
    assert said.code == 0 and said.json["data"]["columns"] == {"x": "numeric", "b": "identifier"}
    assert mercer("predict", "m.mercer", "t.csv").code == 0
    assert mercer("train", "t.csv", "-t", "class", "--ignore", "b", "--test-data", "t.csv").code == 0
    (tmp_path / "new.csv").write_text("x,class\n1,a\n2,b\n")
    assert mercer("predict", "m.mercer", "new.csv").code == 0


def test_texts_that_are_missing_are_named_with_their_line(mercer, tmp_path):
    rows = [f"{k},{'abc'[k % 3]}{'xyz'[k % 2]}{k:02},{'no' if k % 2 else 'yes'}\n" for k in range(20)]
    (tmp_path / "t.csv").write_text("x,note,ill\n" + "".join(rows))
    assert mercer("train", "t.csv", "-t", "ill", "-o", "m.mercer", "-q").code == 0
    rows[4] = rows[9] = "4,,no\n"
    (tmp_path / "t.csv").write_text("x,note,ill\n" + "".join(rows))
    for command in (["train", "t.csv", "-t", "ill"], ["train", "t.csv", "--novelty"], ["predict", "m.mercer", "t.csv"]):
        said = mercer(*command)
        assert said.code == 3 and "t.csv, line 6: the text 'note' is missing (and in 1 other row)" in said.err
    assert mercer("train", "t.csv", "-t", "ill", "--ignore", "note", "-q").code == 0


def test_whether_sequences_have_one_length_is_seen_from_all(mercer, tmp_path):
    letters = ["acgtac", "acgtta", "ccgtac", "acgttt"] * 5
    for seed in range(3):  # one of another length, held out or not
        text = "".join(f">s{k} {'xy'[k % 2]}\n{own}\n" for k, own in enumerate(["acgtacgt", *letters]))
        (tmp_path / "t.fasta").write_text(text)
        said = mercer("train", "t.fasta", "--json", "--seed", seed)
        assert said.code == 0 and "Spectrum" in said.json["kernel"]
    (tmp_path / "t.fasta").write_text(text.replace("acgtacgt", "acgtac"))
    assert mercer("train", "t.fasta", "-o", "m.mercer", "-q").code == 0
    (tmp_path / "new.fasta").write_text(text)
    said = mercer("predict", "m.mercer", "new.fasta")
    assert said.code == 4 and "m.mercer cannot predict new.fasta: WeightedDegree works on sequences of one" in said.err


def test_too_few_of_a_class(mercer, tmp_path):
    rows = [f"{k * 0.7 % 1:.2f},{'b' if k == 3 else 'a'}\n" for k in range(12)]
    (tmp_path / "t.csv").write_text("x,class\n" + "".join(rows))
    said = mercer("train", "t.csv", "-t", "class", "--seed", "1", "--test", "0.5")
    assert said.code == 3 and "All 6 samples to learn from of t.csv have the class a" in said.err
    said = mercer("train", "t.csv", "-t", "class", "--test", "0", "--probability")
    assert said.code == 3 and "2 samples of every class to learn from; of t.csv, the class b has one" in said.err
    said = mercer("tune", "t.csv", "-t", "class", "--test", "0")
    assert said.code == 3 and "--cv 5 needs a class of 5 samples" in said.err and "have 11 and 1." in said.err


def test_models_of_other_kinds_of_files(mercer, tmp_path):
    (tmp_path / "v.svm").write_text("".join(f"{k % 2} 1:{k % 5} 2:1\n" for k in range(20)))
    (tmp_path / "s.fasta").write_text("".join(f">s{k} {'xy'[k % 2]}\nac{'gt'[k % 2]}a\n" for k in range(20)))
    for name in ("v.svm", "s.fasta"):
        assert mercer("train", name, "-o", f"{name}.mercer", "-q").code == 0
    said = mercer("predict", "v.svm.mercer", "s.fasta")
    assert said.code == 4 and "v.svm.mercer works on vectors; s.fasta has sequences" in said.err
    said = mercer("predict", "s.fasta.mercer", "v.svm")
    assert said.code == 4 and "s.fasta.mercer works on strings; v.svm has vectors" in said.err
    said = mercer("train", "v.svm", "-t", "class")
    assert said.code == 2 and "--target is for tables; v.svm is none" in said.err
    said = mercer("train", "s.fasta", "--ignore", "x")
    assert said.code == 2 and "--ignore is for tables; s.fasta is none" in said.err


def test_there_must_be_a_folder_to_write_to(mercer, tmp_path):
    assert mercer("train", IONOSPHERE, "-t", "class", "-o", "m.mercer", "-q").code == 0
    for command in (
        ["predict", "m.mercer", IONOSPHERE, "-o", "nowhere/p.csv"],
        ["convert", IONOSPHERE, "nowhere/i.svm"],
        ["libsvm", "train", IONOSPHERE, "nowhere/i.model"],
    ):
        said = mercer(*command)
        assert said.code == 2 and "There is no folder" in said.err and "nowhere to save" in said.err


# --- the rest ---------------------------------------------------------------------------------------------


def test_inspect(mercer, mixed):
    mercer("train", mixed, "-t", "ill", "-o", "m.mercer", "-q", "-C", 2)
    said = mercer("inspect", "m.mercer")
    assert said.code == 0 and "numeric: age, bmi" in said.out and "status: solved" in said.out
    told = mercer("inspect", "m.mercer", "--json").json
    assert told["target"] == "ill" and told["classes"] == ["no", "yes"] and told["parameters"] == {"C": 2.0}
    assert told["columns"]["text"] == ["note"] and told["certificate"]["gap"] >= 0


@pytest.mark.parametrize("case", [None, "promoters"])
def test_demo(mercer, case):
    said = mercer("demo", *([case] if case else []))
    assert said.code == 0 and "$ mercer train" in said.out and "test error" in said.out
    assert ("Other cases: promoters" in said.out) == (case is None)


def test_demo_leaves_its_data_to_go_on_with(mercer, tmp_path):
    for _ in range(2):
        assert mercer("demo", "promoters", "--copy", "-q") == (0, "", "")
    assert (tmp_path / "promoters.csv").read_bytes() == (BUNDLED / "promoters.csv").read_bytes()
    (tmp_path / "promoters.csv").write_text("mine")
    said = mercer("demo", "promoters", "--copy")
    assert said.code == 1 and "promoters.csv is there already, with other data" in said.err
    assert (tmp_path / "promoters.csv").read_text() == "mine"


def test_demo_cases_exist(mercer):
    from mercer.cli.demonstrating import CASES

    for name in CASES:
        assert (BUNDLED / f"{name}.csv").is_file()
    assert mercer("demo", "nix").code == 2


def test_bench(mercer):
    said = mercer("bench", "-n", 100, "--repeats", 1)
    assert said.code == 0 and "scikit-learn" in said.out and "100.0 %" in said.out
    told = mercer("bench", IONOSPHERE, "-t", "class", "-n", 200, "--repeats", 1, "--json").json
    assert told["runs"][0]["n"] == 200 and told["runs"][0]["agreement"] > 0.99
    assert mercer("bench", PROMOTERS, "-t", "class").code == 1


def test_kernels(mercer):
    said = mercer("kernels")
    assert said.code == 0 and "WeisfeilerLehman" in said.out and "FromFunction" not in said.out
    assert mercer("kernels", "RBF").out.startswith("RBF(gamma='scale')")
    assert "did you mean 'Spectrum'" in mercer("kernels", "spektrum").err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(mercer, shell):
    said = mercer("completion", shell)
    assert said.code == 0 and "_MERCER_COMPLETE" in said.out


def commands(group, path=()):
    for name, command in group.commands.items():
        yield (*path, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", [(), *commands(mercer_command)], ids=" ".join)
def test_every_help_has_examples(mercer, path):
    said = mercer(*path, "--help")
    assert said.code == 0 and "Examples:\n" in said.out
    assert f"mercer {' '.join(path)}".strip() in said.out.partition("Examples:")[2]


def test_quiet_and_json_are_what_they_say(mercer):
    said = mercer("train", IONOSPHERE, "-t", "class", "-q")
    assert said == (0, "", "")
    said = mercer("train", IONOSPHERE, "-t", "class", "--json")
    assert json.loads(said.out) and said.err == "" and said.out.count("\n") == 1
    assert mercer("--version").out == f"mercer {package.__version__}\n"
    assert mercer("trian").code == 2

import json

import numpy as np
import pandas as pd
import pytest
import validate
import validate_procedure as procedure
from scipy.stats import kendalltau, kstest, ttest_rel

from harness.cli.configuration import named_tests
from harness.intervals import clopper_pearson
from harness.measures import difference
from harness.seeding import rng


@pytest.fixture
def references():
    return json.loads(validate.REFERENCES.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "section", ["fagerland", "poisson", "mcnemar", "goutte", "demsar", "hold-out", "drawn", "dietterich"]
)
def test_reference_values(capsys, section):
    status = validate.main(["--quick", "--only", section])
    output = capsys.readouterr().out
    assert status == 0, output
    assert " 0 outside" in output


@pytest.mark.parametrize("place", [1, 7, 11])
def test_sizes_on_reference_populations(references, place):
    # dissimilar classifiers, 300 and 3000 documents, and close ones, 3000; the others take a minute in all
    reference = references["populations"]
    reference["sizes"] = reference["sizes"][place : place + 1]
    rows = list(validate.check_populations(reference, quick=True))
    assert len(rows) == 14
    assert [row for row in rows if not row.ok] == []


def test_a_wrong_value_is_found_and_told(references, capsys, monkeypatch, tmp_path):
    references["demsar"]["values"]["Iman-Davenport F"] = 3.70
    references["populations"]["sizes"] = references["populations"]["sizes"][2:3]
    tests = references["populations"]["tests"]
    references["populations"]["sizes"][0][3][tests.index("likelihood ratio")] = 0.118  # measured: .064
    path = tmp_path / "values.json"
    path.write_text(json.dumps(references), encoding="utf-8")
    monkeypatch.setattr(validate, "REFERENCES", path)
    assert validate.main(["--quick", "--only", "demsar", "populations"]) == 1
    output = capsys.readouterr().out
    assert "demsar: Iman-Davenport F: 3.68631, reference 3.7" in output
    assert "dissimilar, KL null, N 1000, likelihood ratio" in output.partition("17 rows, 2 outside")[2]
    assert "not have: randomization studentized, Dirichlet, 1/2 on discordant cells" in output


def test_what_is_allowed():
    assert validate.printed("", "", 0.03344, 0.0334, 4).ok
    assert not validate.printed("", "", 0.03346, 0.0334, 4).ok
    assert not validate.printed("", "", 49, 50, 0).ok
    # a share of 0 in 1000 sets is no certainty: 4 in 1000 can be the same, 12 cannot
    assert validate.share("", "", 0.004, 100_000, 0.0, 1000).ok
    assert not validate.share("", "", 0.012, 100_000, 0.0, 1000).ok
    # 3.5 standard errors of .057 in 1000 sets are .026
    assert validate.share("", "", 0.080, 100_000, 0.057, 1000).ok
    assert not validate.share("", "", 0.087, 100_000, 0.057, 1000).ok


def test_the_procedure_chooses_where_the_tests_disagree():
    tests = {"error": named_tests(["mcnemar_midp", "mcnemar"])}
    null = procedure.Null("error", "p", "c", 0.1, 120.0, (0.4, 0.04, 0.03, 0.1, 0.1, 0.03, 0.02, 0.28))
    n_files, n_chosen, n_rejected = procedure.judge_files(tests, null, 20, 0, 0.05)["counts"]
    names = (0, "validate_procedure", "error", "p", "c", 20)
    files = rng(*names).multinomial(procedure.N_ITEMS, null.shares, size=n_files)
    rejected = {test.name: test.pvalue(files).pvalue <= 0.05 for test in tests["error"]}
    midp, corrected = rejected["mcnemar_midp"], rejected["mcnemar"]
    (place,) = np.flatnonzero(midp != corrected)
    chosen = procedure.choose(files[place], "error", tests["error"], 0.05, 0)
    assert n_chosen == 1
    assert n_rejected == (midp & corrected).sum() + rejected[chosen][place] > 0


def test_the_procedure_is_measured_on_exact_nulls_and_summed():
    nulls = procedure.find_nulls(validate.validate_advise.OUTCOMES)
    assert len(nulls) == 12
    for null in nulls:
        assert abs(difference(null.measure)(np.array(null.shares))) < 1e-8
        assert null.discordant == pytest.approx(1_000 * sum(null.shares[i] for i in (1, 2, 5, 6)), abs=0.01)
    table = procedure.tabulate(nulls, np.array([[100, 9, 5], [100, 0, 3]] * 6))
    last = table.iloc[-1]
    assert last[["measure", "n_files", "n_chosen", "n_rejected"]].tolist() == ["all", 1_200, 54, 48]
    assert last["size"] == 0.04
    assert (last["mc_low"], last["mc_high"]) == pytest.approx(clopper_pearson(48, 1_200))


def test_scores_of_one_mean_are_drawn_and_judged():
    scores = validate.validate_scores
    for place in range(6):
        population = scores.draw_population(place, 0)
        a, b = scores.draw_scores(population, (20_000,), np.random.default_rng(place))
        for cdf, drawn in zip(population.cdfs, (a, b), strict=True):
            assert np.trapezoid(1 - cdf, scores.GRID) == pytest.approx(population.mean, abs=1e-5)
            assert kstest(drawn, lambda x, cdf=cdf: np.interp(x, scores.GRID, cdf)).pvalue > 1e-6
        assert kendalltau(a, b).statistic == pytest.approx(population.tau, abs=0.024)  # five standard errors
    names = (0, "validate_scores", 5, 25, "sets")
    a, b = scores.draw_scores(scores.draw_population(5, 0), (100, 25), rng(*names))
    expected = (ttest_rel(a, b, axis=1).pvalue <= 0.05).sum()
    assert scores.judge_population(5, 25, 100, 0)["rejected"][0] == expected > 0


def test_a_part_keeps_its_table_and_says_whether_what_is_wanted_is_met(capsys, here):
    options = ["--n-populations", "2", "--n-sets", "20", "--n-jobs", "1"]
    status = validate.main(["scores", "found", *options])
    assert capsys.readouterr().out.rstrip().endswith("NOT MET" if status else ": met")
    kept = json.loads((here / "found" / "provenance.json").read_text())
    assert kept["command"].endswith("scores results/found --n-populations 2 --n-sets 20 --seed 0")
    table = pd.read_csv(here / "found" / "scores.csv")
    assert table.groupby("population")["n_topics"].agg(list).tolist() == [[25, 50, 100]] * 2


@pytest.mark.slow
def test_all_reference_values(capsys):
    status = validate.main([])
    assert status == 0, capsys.readouterr().out

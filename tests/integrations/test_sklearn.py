"""Scorers and displays for scikit-learn: as the functions, in model selection, and by its conventions."""

import inspect
import pickle
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB

import unperplexed
from unperplexed import InputError, assess, risk_profile
from unperplexed.integrations.sklearn import SCORERS, AssessmentDisplay, RiskProfileDisplay, scorer, scorers
from unperplexed.scores.functions import mean_score

ORDER = {"neg_power_score": {"r": -0.5}, "neg_generalized_surprisal": {"r": 0.5}}


@pytest.fixture(scope="module")
def tumours():
    x, y = load_breast_cancer(return_X_y=True)
    return x, np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def folds():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 30)
    x = y[:, None] + rng.normal(size=(60, 2))
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    return x, y, cross_validate(GaussianNB(), x, y, cv=cv, return_estimator=True, return_indices=True)


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


class TestScorers:
    @pytest.mark.parametrize("name", SCORERS)
    @pytest.mark.parametrize("data", ["tumours", "flowers"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_they_are_the_functions(self, request, rng, name, data, weighted):
        x, y = request.getfixturevalue(data)
        weights = {"sample_weight": rng.uniform(size=len(y[1::2]))} if weighted else {}
        model = GaussianNB().fit(x[::2], y[::2])
        packages = (unperplexed, unperplexed.scores)
        plain = name.removeprefix("neg_")
        functions = [getattr(package, plain) for package in packages if hasattr(package, plain)]
        function = functions[0] if functions else partial(mean_score, plain)
        p, settings = model.predict_proba(x[1::2]), ORDER.get(name, {})
        p = p[:, 1] if p.shape[1] == 2 else p  # what scikit-learn hands over
        expected = function(y[1::2], p, labels=list(model.classes_), **settings, **weights)
        found = scorer(name, **settings)(model, x[1::2], y[1::2], **weights)
        assert found == pytest.approx(-expected if name.startswith("neg_") else expected, rel=1e-12)

    def test_all_rules_have_one(self):
        assert {*unperplexed.SCORES} < {name.removeprefix("neg_") for name in SCORERS}
        for name, rule in unperplexed.SCORES.items():
            assert (name in SCORERS) == rule.larger_is_better

    def test_larger_is_better_of_each(self, tumours):
        x, y = tumours
        truth = (y == "malignant").astype(float)
        for name in SCORERS:
            metric = scorer(name, **ORDER.get(name, {}))
            good, bad = Fixed(0.2 + 0.6 * truth), Fixed(0.8 - 0.6 * truth)
            assert metric(good, x, y) > metric(bad, x, y), name

    def test_names_in_model_selection(self, tumours):
        x, y = tumours
        found = cross_validate(GaussianNB(), x, y, scoring=scorers(), cv=3)
        assert {name for name in found if name.startswith("test_")} == {f"test_{name}" for name in scorers()}
        assert all(np.isfinite(found[f"test_{name}"]).all() for name in ("geometric_accuracy", "neg_brier_score"))
        chosen = scorers("geometric_accuracy", "neg_penalized_brier_score")
        search = GridSearchCV(
            GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, scoring=chosen, refit="neg_penalized_brier_score", cv=3
        ).fit(x, y)
        assert search.best_score_ == search.cv_results_["mean_test_neg_penalized_brier_score"].max()

    @pytest.mark.slow
    def test_thresholds_are_tuned_by_certain_forecasts(self, tumours):
        """Half the Brier score of certain forecasts is the share of errors, in either order of the classes."""
        x, y = tumours
        for pos_label in (None, "malignant", "benign"):
            settings = {} if pos_label is None else {"pos_label": pos_label}
            tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=scorer("neg_brier_score", **settings), cv=3)
            tuned.fit(x, y)
            balanced = TunedThresholdClassifierCV(GaussianNB(), scoring="accuracy", cv=3).fit(x, y)
            assert 1 + tuned.best_score_ / 2 == pytest.approx(balanced.best_score_, abs=1e-12)

    @pytest.mark.parametrize("names", [["setosa", "versicolor", "virginica"], [1, 2, 3], [0, 2, 4], [-1.0, 0.0, 1.0]])
    def test_a_fold_without_a_class(self, flowers, names):
        """The classifier says which class each column is."""
        x, y = flowers[0], np.array(names)[flowers[1]]
        for rows, model in ((100, GaussianNB().fit(x, y)), (50, GaussianNB().fit(x[:100], y[:100]))):
            expected = unperplexed.scores.brier_score(
                y[:rows], model.predict_proba(x[:rows]), labels=list(model.classes_)
            )
            for settings in ({}, {"labels": model.classes_}):
                metric = scorer("neg_brier_score", **settings)
                assert metric(model, x[:rows], y[:rows]) == pytest.approx(-expected, rel=1e-6)
                found = check_scoring(model, {"score": metric})(model, x[:rows], y[:rows])["score"]
                assert found == pytest.approx(-expected, rel=1e-6)

    def test_outcomes_and_labels_that_are_not_the_classifier_s(self, flowers):
        x, y = flowers[0], np.array(["red", "rose", "white"])[flowers[1]]
        model = GaussianNB().fit(x[y != "red"], y[y != "red"])
        with pytest.raises(InputError, match="red"):
            scorer("geometric_accuracy")(model, x[:100], y[:100])
        with pytest.raises(InputError, match="labels: the classifier's are, in this order, .*'rose', 'white'"):
            scorer("geometric_accuracy", labels=["white", "rose"])(model, x[50:], y[50:])

    def test_either_class_is_the_positive(self, tumours):
        x, y = tumours
        model = GaussianNB().fit(x, y)
        found = [
            scorer("neg_brier_score", **s)(model, x, y)
            for s in ({}, {"pos_label": "benign"}, {"pos_label": "malignant"})
        ]
        expected = -unperplexed.scores.brier_score(y, model.predict_proba(x), labels=["benign", "malignant"])
        assert found == pytest.approx([expected] * 3, rel=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("names", [[1.0, 2.0], [False, True]])
    def test_thresholds_of_classes_that_are_numbers(self, tumours, names):
        x, y = tumours[0], np.array(names)[(tumours[1] == "malignant").astype(int)]
        balanced = TunedThresholdClassifierCV(GaussianNB(), scoring="accuracy", cv=3).fit(x, y)
        for pos_label in names:
            metric = scorer("neg_brier_score", pos_label=pos_label)
            tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=metric, cv=3).fit(x, y)
            assert 1 + tuned.best_score_ / 2 == pytest.approx(balanced.best_score_, abs=1e-12)

    def test_thresholds_by_what_is_infinite_for_certain_forecasts(self, tumours):
        with pytest.raises(
            InputError, match="log_loss: of classes instead of probabilities it is infinite; give a floor"
        ):
            TunedThresholdClassifierCV(GaussianNB(), scoring=scorer("neg_log_loss"), cv=3).fit(*tumours)
        found = TunedThresholdClassifierCV(GaussianNB(), scoring=scorer("neg_log_loss", floor=0.01), cv=3).fit(*tumours)
        assert np.isfinite(found.best_score_)

    def test_settings_are_checked_when_it_is_made(self):
        for make in (lambda: scorer("geometric_accuracy", flor=1), lambda: scorer("neg_power_score")):
            with pytest.raises(TypeError):
                make()
        with pytest.raises(InputError, match="floor"):
            scorer("neg_log_loss", floor=2)

    def test_probabilities_without_a_classifier_need_all_its_classes(self, flowers):
        """As a library calls the metric that a scorer holds: then the outcomes alone name the classes."""
        x, y = flowers
        p, metric = GaussianNB().fit(x, y).predict_proba(x), scorer("neg_brier_score")._score_func
        assert metric(y, p) == unperplexed.scores.brier_score(y, p)
        with pytest.raises(InputError, match=r"probabilities of 3 classes, and these are \[0, 1\]; give those of the"):
            metric(y[:100], p[:100])
        assert metric(y[:100], p[:100], labels=[0, 1, 2]) == unperplexed.scores.brier_score(
            y[:100], p[:100], labels=[0, 1, 2]
        )
        with pytest.raises(InputError, match="these are .* with pos_label 7; give those of the classifier"):
            metric(y[:100], p[:100, 1], pos_label=7)

    def test_weights_are_routed(self, tumours, rng):
        x, y = tumours
        weights = rng.integers(0, 3, len(y)).astype(float)
        cv = StratifiedKFold(3)
        with sklearn.config_context(enable_metadata_routing=True):
            metric = scorer("geometric_accuracy").set_score_request(sample_weight=True)
            model = GaussianNB().set_fit_request(sample_weight=False)
            found = cross_val_score(model, x, y, scoring=metric, cv=cv, params={"sample_weight": weights})
        for value, (train, test) in zip(found, cv.split(x, y), strict=True):
            p = GaussianNB().fit(x[train], y[train]).predict_proba(x[test])
            kept = weights[test] > 0
            expected = unperplexed.geometric_accuracy(
                y[test][kept], p[kept], labels=["benign", "malignant"], sample_weight=weights[test][kept]
            )
            assert value == pytest.approx(expected, rel=1e-12)

    def test_they_can_be_sent_and_shown(self):
        metric = scorer("neg_power_score", r=0.5)
        assert "power_score" in repr(pickle.loads(pickle.dumps(metric)))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: scorer("brier_score"), r"did you mean 'neg_brier_score'\? Known: geometric_accuracy, "),
            (lambda: scorers("nonsense"), "no scorer 'nonsense'"),
            (lambda: scorers(r=1), r"scorers: r are not for all; make such a one with scorer\(\)"),
        ],
    )
    def test_bad_names(self, make, message):
        with pytest.raises(InputError, match=message):
            make()

    def test_functions_make_scorers(self, tumours):
        """Those of the package are ready for make_scorer as they are."""
        from sklearn.metrics import make_scorer

        x, y = tumours
        model = GaussianNB().fit(x, y)
        made = make_scorer(
            unperplexed.scores.penalized_brier_score,
            response_method="predict_proba",
            greater_is_better=False,
            pos_label="malignant",
        )
        assert made(model, x, y) == pytest.approx(scorer("neg_penalized_brier_score")(model, x, y), rel=1e-12)


class Fixed(GaussianNB):
    """Says what it was told."""

    def __init__(self, malignant):
        self.malignant = malignant
        self.classes_ = np.array(["benign", "malignant"])

    def predict_proba(self, X):
        return np.stack([1 - self.malignant, self.malignant], axis=1)


class TestDisplays:
    @pytest.mark.slow
    @pytest.mark.parametrize("data", ["tumours", "flowers"])
    def test_assessment(self, request, data):
        x, y = request.getfixturevalue(data)
        model = GaussianNB().fit(x[::2], y[::2])
        display = AssessmentDisplay.from_estimator(model, x[1::2], y[1::2], resamples=40)
        expected = assess(y[1::2], model.predict_proba(x[1::2]), labels=list(model.classes_), resamples=40)
        assert display.assessment.to_json() == expected.to_json()
        assert display.figure_ is display.ax_.figure
        named = {text.get_text() for text in display.ax_.texts} | {display.figure_.get_suptitle()}
        assert "GaussianNB" in named
        ax = Figure().subplots()
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert display.figure_.get_suptitle() == ""
        same = AssessmentDisplay.from_predictions(
            y[1::2], model.predict_proba(x[1::2]), labels=list(model.classes_), ax=ax, resamples=40
        )
        assert same.assessment.to_json() == expected.to_json()

    @pytest.mark.slow
    def test_several_on_the_same_axes(self, rng):
        y, p = rng.random(200) < 0.5, rng.random(200)
        ax = AssessmentDisplay.from_predictions(y, p, name="first", resamples=0).ax_
        style = {"color": "black", "linestyle": ":"}
        second = AssessmentDisplay.from_predictions(y, p**2, name="second", ax=ax, curve_kwargs=style, resamples=0)
        assert second.ax_ is ax
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]
        curve = next(line for line in ax.lines if line.get_label() == "second")
        assert (curve.get_color(), curve.get_linestyle()) == ("black", ":")
        alone = AssessmentDisplay.from_predictions(y, p, name="third", kind="averages", resamples=0)
        assert alone.figure_.get_suptitle() == "third"

    def test_over_the_curve_of_scikit_learn(self, rng):
        y, p = rng.random(200) < 0.5, rng.random(200)
        theirs = CalibrationDisplay.from_predictions(y, p, name="theirs", ax=Figure().subplots())
        before = len(theirs.figure_.axes)
        ours = AssessmentDisplay.from_predictions(y, p, name="ours", ax=theirs.ax_, resamples=0)
        names = [text.get_text() for text in theirs.ax_.get_legend().get_texts()]
        assert names == ["Perfectly calibrated", "theirs", "ours"]
        assert len(ours.figure_.axes) == before
        assert len({line.get_color() for line in ours.ax_.lines if line.get_label() in ("theirs", "ours")}) == 2

    @pytest.mark.parametrize(
        "keyword", [{"n_bins": 5}, {"strategy": "quantile"}, {"ref_line": False}, {"color": "red"}]
    )
    def test_keywords_of_scikit_learn_are_refused_with_ours(self, rng, keyword):
        with pytest.raises(InputError, match=f"^{next(iter(keyword))}: .*(measured|curve_kwargs|identity line)"):
            AssessmentDisplay.from_predictions([0, 1], [0.2, 0.7], **keyword)

    @pytest.mark.slow
    def test_all_folds_together(self, tumours, rng):
        x, y = tumours
        weights = rng.uniform(size=len(y))
        found = cross_validate(GaussianNB(), x, y, return_estimator=True, return_indices=True, cv=3)
        p = np.empty((len(y), 2))
        for model, at in zip(found["estimator"], found["indices"]["test"], strict=True):
            p[at] = model.predict_proba(x[at])
        labels = ["benign", "malignant"]
        for given, data in ((x, y), (pd.DataFrame(x), pd.Series(y, index=np.arange(len(y))[::-1]))):
            display = AssessmentDisplay.from_cv_results(found, given, data, sample_weight=weights, resamples=40)
            expected = assess(y, p, labels=labels, sample_weight=weights, resamples=40)
            assert display.assessment.metrics() == pytest.approx(expected.metrics(), rel=1e-9, nan_ok=True)
        profiles = RiskProfileDisplay.from_cv_results(found, x, y, sample_weight=weights)
        assert profiles.names == ["fold 0", "fold 1", "fold 2"]
        at = found["indices"]["test"][1]
        one = risk_profile(y[at], p[at], labels=labels, sample_weight=weights[at])
        np.testing.assert_array_equal(profiles.profiles[1].values, one.values)

    @pytest.mark.slow
    def test_groups_go_with_their_rows(self, tumours, rng):
        x, y = tumours
        groups = rng.integers(0, 40, len(y))
        cv = GroupKFold(3)
        found = cross_validate(GaussianNB(), x, y, groups=groups, cv=cv, return_estimator=True, return_indices=True)
        at = np.concatenate(found["indices"]["test"])
        folds = zip(found["estimator"], found["indices"]["test"], strict=True)
        p = np.concatenate([model.predict_proba(x[rows]) for model, rows in folds])
        labels = ["benign", "malignant"]
        expected = assess(y[at], p, labels=labels, clusters=groups[at], resamples=40)
        for given in (groups, groups.tolist(), {"id": groups}, pd.DataFrame({"id": groups})):
            display = AssessmentDisplay.from_cv_results(found, x, y, clusters=given, resamples=40)
            assert display.assessment.intervals["brier_score"] == expected.intervals["brier_score"]

    @pytest.mark.slow
    def test_rows_that_were_left_out_several_times_are_no_more_rows(self, tumours):
        x, y = tumours
        found = cross_validate(
            GaussianNB(),
            x,
            y,
            cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=5, random_state=0),
            return_estimator=True,
            return_indices=True,
        )
        once = {"estimator": found["estimator"][:3], "indices": {"test": found["indices"]["test"][:3]}}
        many, one = (AssessmentDisplay.from_cv_results(each, x, y, resamples=40).assessment for each in (found, once))
        assert many.n_rows == 5 * one.n_rows

        def width(a):
            low, high = a.intervals["brier_score"][:2]
            return high - low

        assert 0.7 < width(many) / width(one) < 1.3

    @pytest.mark.slow
    def test_groups_of_one_column_or_several_are_clusters(self, folds):
        x, y, found = folds
        draw = partial(AssessmentDisplay.from_cv_results, found, x, y, resamples=0, ax=Figure().subplots())
        for groups, clusters in ((np.arange(60) // 5, 12), ({"id": np.arange(60) // 5, "k": np.arange(60) % 2}, 24)):
            assert draw(clusters=groups).assessment.diagnosis.n_clusters == clusters
        # Rows that were left out once do not depend on one another.
        once = {"estimator": found["estimator"][:2], "indices": {"test": found["indices"]["test"][:2]}}
        own = AssessmentDisplay.from_cv_results(once, x, y, resamples=0, ax=Figure().subplots()).assessment
        assert (own.n_rows, own.diagnosis.n_clusters) == (60, None)

    def test_averages_on_own_axes_have_no_title_of_the_figure(self, folds):
        x, y, found = folds
        figure = Figure()
        AssessmentDisplay.from_cv_results(found, x, y, resamples=0, kind="averages", name="bayes", ax=figure.subplots())
        assert figure.get_suptitle() == ""

    def test_the_first_class_can_be_the_drawn_one(self, folds):
        x, y, found = folds
        model, ax = found["estimator"][0], Figure().subplots()
        drawn = AssessmentDisplay.from_estimator(model, x, y, pos_label=0, resamples=0, ax=ax).assessment
        assert drawn.labels == (1, 0)
        assert drawn.bias.mean_reported == pytest.approx(model.predict_proba(x)[:, 0].mean())

    def test_what_cannot_be_drawn_is_said(self, tumours):
        x, y = tumours
        found = cross_validate(GaussianNB(), x, y, cv=3, return_estimator=True, return_indices=True)
        with pytest.raises(InputError, match="X, y: expected the rows that were cross-validated, got 500 and 500"):
            AssessmentDisplay.from_cv_results(found, x[:500], y[:500])
        with pytest.raises(NotFittedError):
            AssessmentDisplay.from_estimator(LinearRegression(), x, y)
        with pytest.raises(InputError, match="estimator: LinearRegression has no predict_proba"):
            RiskProfileDisplay.from_estimator(LinearRegression().fit(x, y == "benign"), x, y)
        with pytest.raises(InputError, match="pos_label: 'no' is none of two classes"):
            AssessmentDisplay.from_estimator(GaussianNB().fit(x, y), x, y, pos_label="no")

    @pytest.mark.slow
    def test_either_class_may_be_the_positive(self, tumours):
        x, y = tumours
        model = GaussianNB().fit(x, y)
        # Of the positive class's probability alone: those that are rounded to 1 are not told apart as those near 0 are,
        # which isotonic regression does not see.
        for settings in ({"view": "all-classes"}, {"measured": "isotonic"}):
            drawn = [
                AssessmentDisplay.from_estimator(model, x, y, pos_label=label, resamples=0, **settings)
                for label in ("benign", "malignant")
            ]
            assert drawn[0].assessment.metrics() == pytest.approx(drawn[1].assessment.metrics(), rel=1e-9)
            assert drawn[0].assessment.labels == ("malignant", "benign")
            assert drawn[0].assessment.diagnosis.errors == drawn[1].assessment.diagnosis.errors != ()
        p = model.predict_proba(x).clip(1e-6, 1 - 1e-6)
        one, other = (
            AssessmentDisplay.from_predictions(y, p[:, at], labels=labels, resamples=0).assessment
            for at, labels in ((1, ["benign", "malignant"]), (0, ["malignant", "benign"]))
        )
        assert one.metrics() == pytest.approx(other.metrics(), rel=1e-9)

    def test_a_class_that_a_fold_did_not_see_has_no_probability(self, flowers):
        x, y = flowers
        found = {
            "estimator": [GaussianNB().fit(x[y < 2], y[y < 2]), GaussianNB().fit(x, y)],
            "indices": {"test": [np.flatnonzero(y == 2)[:10], np.arange(0, 150, 10)]},
        }
        display = AssessmentDisplay.from_cv_results(found, x, y, resamples=0)
        assert display.assessment.n_classes == 3
        assert display.assessment.zero_given >= 10

    def test_risk_profile(self, tumours):
        x, y = tumours
        model = GaussianNB().fit(x[::2], y[::2])
        display = RiskProfileDisplay.from_estimator(model, x[1::2], y[1::2], orders=[-1, 0, 1])
        expected = risk_profile(y[1::2], model.predict_proba(x[1::2]), labels=list(model.classes_), orders=[-1, 0, 1])
        np.testing.assert_array_equal(display.profiles[0].values, expected.values)
        assert display.ax_.get_legend().get_texts()[0].get_text() == "GaussianNB"
        ax = Figure().subplots()
        same = RiskProfileDisplay.from_predictions(
            y[1::2], model.predict_proba(x[1::2])[:, 1], pos_label="malignant", name="bayes", ax=ax, orders=[-1, 0, 1]
        )
        assert same.ax_ is ax
        assert same.names == ["bayes"]
        np.testing.assert_allclose(same.profiles[0].values, expected.values, rtol=1e-12)

    def test_results_without_estimators(self, tumours):
        found = cross_validate(GaussianNB(), *tumours, cv=3)
        with pytest.raises(InputError, match="cv_results: has no estimators or indices"):
            AssessmentDisplay.from_cv_results(found, *tumours)
        with pytest.raises(InputError, match="return_estimator=True, return_indices=True"):
            RiskProfileDisplay.from_cv_results(found, *tumours)

    @pytest.mark.parametrize("display", [AssessmentDisplay, RiskProfileDisplay])
    def test_conventions(self, display):
        """Positional is what is positional of scikit-learn's displays; the rest are keywords."""
        for maker in ("from_estimator", "from_predictions"):
            kinds = []
            for each in (display, CalibrationDisplay):
                parameters = inspect.signature(getattr(each, maker)).parameters.values()
                kinds.append([p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD])
            assert kinds[0] == [name.replace("y_prob", "y_proba") for name in kinds[1]]
        model = LogisticRegression()
        with pytest.raises(TypeError):
            display.from_predictions([0, 1], [0.2, 0.7], nonsense=model)


@pytest.mark.parametrize(
    ("printed", "today"),
    [
        ("log_loss", "did you mean 'neg_log_loss'"),
        ("brier_score", "did you mean 'neg_brier_score'"),
        ("reported_geometric_accuracy", "did you mean 'geometric_accuracy'"),
        ("ece", "it is 'neg_expected_calibration_error'"),
        ("neg_ece", "it is 'neg_expected_calibration_error'"),
        ("auc", "scikit-learn has it as 'roc_auc'"),
        ("slope", "neither larger nor smaller is better"),
        ("robustnes", "did you mean 'robustness'"),
    ],
)
def test_names_that_assessments_print_lead_to_scorers(printed, today):
    with pytest.raises(InputError, match=f"scorer: no scorer '{printed}'.*{today}"):
        scorers(printed)

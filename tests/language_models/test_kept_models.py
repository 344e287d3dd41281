"""Texts, questions, graded answers and bounds, figure by figure, beside those that are kept."""

from pathlib import Path

import numpy as np

from kept import same_as_kept
from opened import opened, told
from unperplexed.language_models import (
    Answer,
    GradedAnswers,
    Question,
    Remarks,
    Text,
    assess_answers,
    assess_questions,
    assess_texts,
    compare_questions,
    compare_texts,
    leaderboard,
    read_answers,
    stated_confidence,
    top_k_bounds,
)
from unperplexed.language_models.clustered_ratios import RatioSums, mean_of
from unperplexed.language_models.questions import question_metrics
from unperplexed.language_models.ranking import answer_agreement, beta_binomial
from unperplexed.language_models.text_comparison import jackknife

KEPT = Path(__file__).with_name("models.json")
WORDS = ["Hello", "Good day", "How do you do", "It rains", "Snow", "What a long sentence that is", "a b c d e f g h"]


def texts(loss, n=30, **more):
    """Documents whose tokens repeat once, 2 to 9 times and more often."""
    found = []
    for at in range(n):
        words = [*WORDS[at % len(WORDS)].split(), f"only{at}", *(["pair"] if at < 4 else [])]
        log_probs = [-loss * (1 + at % 5 / 4) * (1 + place % 3) for place, _ in enumerate(words)]
        found.append(Text.of(f"d{at}", " ".join(words), log_probs, pieces=words, **more))
    return found


def test_texts():
    short = [Text("a", -3.0, tokens=2, n_bytes=9, words=2), Text("b", -1.5, tokens=1, n_bytes=4, words=1)]
    bare = [*short, Text("c", -2.0), Text("d", 0.0, tokens=0, n_bytes=0, words=0), Text("e", -np.inf, 3, 7, 1)]
    found = {
        name: opened(told(assess_texts, some, confidence=level), (), 5)
        for name, some, level in (
            ("long", texts(0.4), 0.95),
            ("two", short, 0.9),
            ("bare", bare, 0.95),
            ("one", short[:1], 0.95),
            ("none", [], 0.95),
            ("zero", [Text("z", 0.0, 2, 5, 1), Text("y", 0.0, 2, 5, 1)], 0.95),
            ("level", short, 1.0),
            ("twice", [*short, *short], 0.95),
        )
    }
    found["compared"] = [
        opened(told(compare_texts, *each, names=("one", "two"), common=common), (), 5)
        for each, common in (
            ((texts(0.4), texts(0.5)), False),
            ((texts(0.4), texts(0.4)), False),
            ((texts(0.4), texts(0.1, 20)), True),
            ((texts(0.4), texts(0.1, 20)), False),
            (
                (
                    texts(0.4, 12),
                    [
                        Text(f"d{at}", -3.0 - at % 3, n_bytes=each.n_bytes, digest=each.digest)
                        for at, each in enumerate(texts(0.4, 12))
                    ],
                ),
                False,
            ),
            ((short, [Text("x", -1.0, 1, 9, 1)]), False),
        )
    ]
    found["refused"] = [
        told(Text.of, "t", "a b", given, pieces=pieces)
        for given, pieces in (([], None), ([0.1], None), ([np.nan], None), ([-1.0], ["a", "b"]), ([-1.0], [3]))
    ]
    found["sizes"] = [told(Text, "t", -1.0, size) for size in (-1, 2**53, 2**53 + 1, 1.5, True)]
    same_as_kept(KEPT, "texts", found)


def questions(seed, n=60, options=3, skill=1.0):
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        x = rng.normal(size=options) + skill * (np.arange(options) == at % options)
        p = np.exp(x) / np.exp(x).sum() * (0.6 + 0.4 * rng.random())
        more = {"unconditional": np.log(np.full(options, 0.2)) - rng.random(options)} if at % 2 else {}
        right = (at % options, (at + 1) % options) if at % 10 == 0 else (at % options,)
        names = tuple(f"{letter * (1 + at % 3)} é" for letter in "abcd"[:options])
        found.append(Question(f"task{at % 2}|q{at}", names, np.log(p), right, **more))
    return found


def test_questions():
    some = questions(1)
    holes = [
        *some[:20],
        Question("hole", ("a", "b"), np.array([-0.5, -np.inf]), (0,)),
        Question("nan", ("a", "b"), np.array([-0.7, np.nan]), (1,)),
    ]
    found = {
        str(more): opened(told(assess_questions, given, resamples=0, **more), ("assessment", "diagnosis"), 5)
        for given, more in (
            (some, {}),
            (some, {"events": "top-option", "confidence": 0.8}),
            (some, {"outside": "keep"}),
            (holes, {"missing": "drop"}),
            (holes, {"missing": "refuse"}),
            (holes, {"missing": "zero"}),
            (some[:1], {"confidence": 0.9}),
            ([], {"seed": 1}),
        )
    }
    found["metrics"] = opened(question_metrics(some, "renormalize", "refuse"))
    found["compared"] = [
        opened(told(compare_questions, some, other, names=("x", "y"), **more), (), 5)
        for other, more in (
            (questions(1, skill=2.0), {}),
            (some, {}),
            (questions(2, 50), {"common": True}),
            (questions(2, 50), {}),
            (questions(2, options=4), {}),
        )
    ]
    same_as_kept(KEPT, "questions", found)


def answers(seed, n=80, bent=2.0, epochs=1):
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        c = round(float(rng.uniform(0.3, 1)), 2)
        right = float(rng.random() < c**bent) if at % 9 else 0.5
        stated = None if at % 11 == 0 else c
        found.append(
            Answer(
                f"q{at // epochs}",
                right,
                stated,
                grader="judge",
                epoch=at % epochs + 1,
                text="ab"[at % 2],
                model="m",
                per_token=c**0.5,
            )
        )
    return found


def board(seed, n=60, models=("m", "k", "l"), kinds=("stated", "likely"), answer=False):
    rng = np.random.default_rng(seed)
    size = n * len(models)
    p = np.round(rng.uniform(0.2, 1, size), 2)
    right = (rng.random(size) < p ** (1 + np.arange(size) // n / 2)).astype(float)
    right[::17] = 0.5
    other = np.where(rng.random(size) < 0.9, right, 1 - right)
    confidences = {kind: np.where(np.arange(size) % 13 == at, np.nan, p ** (1 + at)) for at, kind in enumerate(kinds)}
    names = [name for name in models for _ in range(n)]
    text = [str(each) for each in rng.integers(0, 3, size)] if answer else None
    return GradedAnswers(
        {"judge": right, "other": other},
        confidences,
        np.tile(np.arange(n) // (3 if answer else 1), len(models)),
        names,
        text,
    )


def test_graded_answers():
    found = {
        "assessed": [
            opened(told(assess_answers, each, resamples=0), ("assessment",), 5)
            for each in (answers(1), answers(2, epochs=4), answers(3, 4), [])
        ],
        "compared": [
            opened(
                told(compare_questions, answers(1), answers(seed, bent=bent, epochs=1), names=("x", "y"), common=True),
                (),
                5,
            )
            for seed, bent in ((2, 1.0), (1, 2.0))
        ],
        "boards": [
            opened(told(leaderboard, each, **more), (), 5)
            for each, more in (
                (board(1), {}),
                (board(2, models=("m",)), {"confidence": 0.8}),
                (board(3, answer=True, kinds=()), {}),
                (board(4, n=4), {}),
                (board(5, kinds=()), {}),
            )
        ],
        "agreement": opened(answer_agreement(np.arange(60) // 4, np.arange(60) * 7 % 3)),
        "few": [
            opened(told(answer_agreement, q, a))
            for q, a in (([1], ["a"]), ([1, 1, 2, 2], ["a", "a", None, "b"]), ([1, 2], [""]))
        ],
        "beta": [
            beta_binomial(np.array(m), np.array(n))
            for m, n in (([1, 2, 0, 3], [3, 3, 3, 3]), ([0, 4], [4, 4]), ([2, 2, 2], [4, 4, 4]))
        ],
    }
    same_as_kept(KEPT, "answers", found)


STATED = """0.8|80%|I am 90% confident.|Confidence: 7/10|confidence 3 out of 5|Between 60 and 80% sure|about 50/50
I'd say 95|maybe 0.3|85 percent certain|I am not sure|Not 90% confident|I am 20% sure I am wrong
The answer is 42.|Answer: 7. Confidence: 95%|Confidence: 80%, no: 60%|final confidence 70%, first 40%
more than 90% sure|at least 80% confident|less than 10% likely to be wrong|Confidence (0-100): 70
Confidence (0-1): 0.7|confidence interval 95%|110% sure|-5% sure|1|100|1.0|0|10|Confidence: 1
Confidence: 10|he is 90% sure|If I were 90% sure|60-70% confident|~75% likely|certainty = 0.65 ± 0.1
Confidence: high|I am certain|probability: 0.25|chance of being correct: 55%|P(true) = 0.9|I give it a 7
I rate it 7 of 10|Confidence: 99.5 %"""


def test_stated_confidences(tmp_path):
    said = [each for line in STATED.splitlines() for each in line.split("|")]
    words = {"high": 0.9, "certain": 1.0}
    ways = ({}, {"scale": 100}, {"scale": 10}, {"scale": 1}, {"words": words}, {"doubtful": True})
    found = {str(more): [f"{each}: {told(stated_confidence, each, **more)}" for each in said] for more in ways[:1]}
    found |= {str(more): [told(stated_confidence, each, **more) for each in said] for more in ways[1:]}
    found["refused"] = [
        told(stated_confidence, "5", **more)
        for more in ({"scale": 0}, {"scale": -1}, {"words": {"a": 1.1}}, {"words": {"": 0.5}})
    ]
    path, read = tmp_path / "t.csv", []
    for stated, grades in (
        (["80%", "9", "0.5", "none", "100"], ["yes", "no", "", "1", "0.5"]),
        (["7", "10", "6"] * 4, ["1", "0", "1"] * 4),
        (["1", "0.5", "2"], ["C", "I", "P"]),
    ):
        path.write_text(
            "m,q,g,s,a\n"
            + "\n".join(f"m{at % 2},q{at // 2},{g},{s},x" for at, (s, g) in enumerate(zip(stated, grades, strict=True)))
            + "\n"
        )
        for more in ({}, {"scale": 100}, {"wrong": ["no", "I"]}, {"doubtful": True}, {"words": words | {"none": 0.1}}):
            remarks = Remarks()
            made = told(
                read_answers, path, ["g"], {"stated": "s"}, question=["q"], model=["m"], remarks=remarks, **more
            )
            read.append(
                [opened(made, ("frame",)), list(remarks.sentences())]
                if not isinstance(made, str)
                else made.replace(str(tmp_path), "")
            )
    found["read"] = read
    same_as_kept(KEPT, "stated", found)


def test_bounds_and_means():
    rng = np.random.default_rng(4)
    top = np.log(np.sort(rng.dirichlet(np.ones(6), 40))[:, ::-1][:, :3])
    observed = np.arange(40) % 4 - 1
    own = np.where(observed < 0, top[:, 2] - 1, 0.0)
    found = {
        "bounds": [
            opened(told(top_k_bounds, top, observed, given, vocabulary=v))
            for given in (None, np.where(observed < 0, own, top[np.arange(40), observed]))
            for v in (None, 3, 4, 6, 50)
        ],
        "refused": [told(top_k_bounds, x, [0]) for x in ([[0.1]], [[-1.0, -0.5]], [[np.nan]], [[-0.1, -0.1]], [[]])],
        "means": [
            opened(mean_of(np.array(x, float), level, larger, clusters, most))
            for x in ([1, 0, 1, 1], [1, 1], [0.2], [0.3, 0.9, 0.4, 0.1, 0.6])
            for level, larger, clusters, most in (
                (0.95, True, None, 1.0),
                (0.8, False, None, 1.0),
                (0.9, True, None, 5.0),
                (0.9, False, None, np.inf),
            )
        ],
        "clustered": opened(mean_of(np.arange(12) % 5 / 4, 0.9, True, np.arange(12) // 3)),
        "ratios": [
            opened(RatioSums.of(np.array(x, float), np.array(y, float)).estimate())
            for x, y in (([1, 2], [3, 4]), ([1], [2]), ([0, 0], [1, 2]), ([1, 2, 4], [1, 2, 4]))
        ],
        "jackknife": [
            jackknife(np.array(x, float), np.array(y, float))
            for x, y in (([1, 2, 4], [3, 4, 5]), ([1, 2, 3, 4.5], [1, 1, 2, 2]))
        ],
    }
    same_as_kept(KEPT, "bounds", found)

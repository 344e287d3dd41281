"""Random folds: sizes, chance of each row, clusters."""

import numpy as np
from scipy.stats import chisquare, hypergeom

from unperplexed.recalibration.folds import contents_of_rows, folds_of_clusters, folds_of_counts, folds_of_places


def test_counts_are_dealt_out_in_equal_folds():
    counts = np.random.default_rng(0).integers(0, 9, 200)
    dealt = folds_of_counts(counts, 5, 0)
    np.testing.assert_array_equal(dealt.sum(axis=0), counts)
    assert np.ptp(dealt.sum(axis=1)) <= 1
    np.testing.assert_array_equal(dealt, folds_of_counts(counts, 5, 0))
    assert (dealt != folds_of_counts(counts, 5, 1)).any()


def test_folds_are_not_stratified():
    # The positives of the first fold are hypergeometric, as those of rows drawn at random are.
    drawn = np.array([folds_of_counts(np.array([30, 20]), 5, seed)[0, 1] for seed in range(1000)])
    law = hypergeom(50, 20, 10)
    kinds = [drawn <= 2, drawn == 3, drawn == 4, drawn == 5, drawn >= 6]
    expected = [law.cdf(2), law.pmf(3), law.pmf(4), law.pmf(5), law.sf(5)]
    assert chisquare([kind.sum() for kind in kinds], 1000 * np.array(expected)).pvalue > 0.001


def test_more_rows_than_can_be_drawn_one_by_one():
    dealt = folds_of_counts(np.array([10**10, 3]), 5, 0)
    np.testing.assert_array_equal(dealt.sum(axis=0), [10**10, 3])
    np.testing.assert_allclose(dealt[:, 0], 2e9, rtol=1e-3)


def test_clusters_stay_together_whatever_their_order():
    cluster = np.random.default_rng(1).integers(0, 40, 500) * 1000
    p, y = np.random.default_rng(3).integers(1, 9, (500, 1)) / 10, np.arange(500) % 2
    contents = contents_of_rows(p, y, np.ones(500))
    fold = folds_of_clusters(cluster, contents, 5, 0)
    assert all(len(set(fold[cluster == each])) == 1 for each in np.unique(cluster))
    order = np.random.default_rng(2).permutation(500)
    np.testing.assert_array_equal(folds_of_clusters(cluster[order], contents[order], 5, 0), fold[order])
    renamed = np.random.default_rng(4).permutation(40)[cluster // 1000]
    np.testing.assert_array_equal(folds_of_clusters(renamed, contents, 5, 0), fold)
    assert np.bincount(folds_of_places(41, 5, 0)).tolist() in ([9, 8, 8, 8, 8],)

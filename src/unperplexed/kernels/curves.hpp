// Measured probability of many samples of the same entries: isotonic regression, logistic recalibration, and the first
// shrunk towards the second. The NumPy functions of kernels/curves.py say what each is. A sample is
// fitted by itself, to the same optimum, so that results agree to some twelve digits, not to the last.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elementary.hpp"

namespace curves {

constexpr double SHRINKAGE = 4;          // pairs of either outcome that a block's own frequency is held against
constexpr double SAFE = 0.5, SAME = 1e-7;  // steps in log-odds that need no search, and that are the last
constexpr double FARTHEST = 100;         // no step in log-odds is longer
constexpr double ROUNDING = 1 + 1e-14;   // frequencies that differ by less are equal

inline double expit(double x) { return 1 / (1 + std::exp(-x)); }

// Neighbours of which the later is not above the earlier.
struct Block {
    double happened, total;
    std::size_t end;
};

// Blocks of the isotonic regression of happened / total, by pooling adjacent violators; equal neighbours are pooled.
inline void pooled(const double* happened, const double* total, std::size_t n, std::vector<Block>& blocks) {
    blocks.clear();
    for (std::size_t i = 0; i < n; ++i) {
        Block now{happened[i], total[i], i + 1};
        while (!blocks.empty()) {
            const Block& before = blocks.back();
            if (now.happened / now.total > before.happened / before.total * ROUNDING) break;
            now.happened += before.happened;
            now.total += before.total;
            blocks.pop_back();
        }
        blocks.push_back(now);
    }
}

// A line over places, to be added to log-odds.
struct Line {
    double level = 0, slope = 0;
};

// Entries of a logistic regression on log-odds that are its offset too.
struct Regression {
    std::vector<double> odds, place, happened, total;
    std::vector<double> now;  // probabilities on a line

    void set(const Line& at) {
        now.resize(odds.size());
        for (std::size_t i = 0; i < odds.size(); ++i) now[i] = odds[i] + at.level + at.slope * place[i];
        to_probabilities(now.data(), now.size());
    }

    void clear() {
        for (auto* each : {&odds, &place, &happened, &total}) each->clear();
    }

    double loss(const Line& at) const {
        double sum = 0;
        for (std::size_t i = 0; i < odds.size(); ++i) {
            const double x = odds[i] + at.level + at.slope * place[i];
            sum += total[i] * (std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))) - happened[i] * x;
        }
        return sum;
    }

    // How far level and slope are to go, by the gradient and the curvature of the likelihood.
    Line newton(const Line& at) {
        set(at);
        double up = 0, around = 0, a = 0, b = 0, c = 0;
        for (std::size_t i = 0; i < odds.size(); ++i) {
            const double x = place[i], p = now[i];
            const double residual = happened[i] - total[i] * p, curvature = total[i] * p * (1 - p);
            up += residual;
            around += residual * x;
            a += curvature;
            b += curvature * x;
            c += curvature * x * x;
        }
        const double determinant = a * c - b * b;
        Line step;
        if (determinant > 1e-14 * a * c)
            step = {(c * up - b * around) / determinant, (a * around - b * up) / determinant};
        else if (a > 0)
            step = {up / a, 0};
        return {std::clamp(step.level, -FARTHEST, FARTHEST), std::clamp(step.slope, -FARTHEST, FARTHEST)};
    }

    Line fitted(Line at) {
        if (odds.empty()) return at;
        const auto [least, most] = std::minmax_element(place.begin(), place.end());
        double current = std::numeric_limits<double>::quiet_NaN();
        for (int round = 0; round < 100; ++round) {
            const Line step = newton(at);
            const double change =
                std::max(std::abs(step.level + step.slope * *least), std::abs(step.level + step.slope * *most));
            if (change <= SAFE) {  // curvatures change by less than twice: the loss must fall
                at = {at.level + step.level, at.slope + step.slope};
                current = std::numeric_limits<double>::quiet_NaN();
                if (change < SAME) break;
                continue;
            }
            if (std::isnan(current)) current = loss(at);
            double size = 1, next;
            for (;; size /= 2) {
                next = loss({at.level + size * step.level, at.slope + size * step.slope});
                if (!(next > current + 1e-13 * std::abs(current)) || size < 1e-12) break;
            }
            at = {at.level + size * step.level, at.slope + size * step.slope};
            const double gained = current - next;
            current = std::min(next, current);
            if (gained <= 1e-13 * std::abs(current)) break;
        }
        return at;
    }
};

// Probabilities, and the logarithms of them and of what they leave to 1.
struct Logarithms {
    std::vector<double> p, log, log_of_rest;

    void set() {
        log.resize(p.size());
        log_of_rest.resize(p.size());
        logarithms(p.data(), p.size(), log.data(), log_of_rest.data());
    }
};

// Samples of entries by increasing reported probability.
class Samples {
public:
    Samples(const double* reported, std::size_t entries) : reported_(reported), n_(entries), line_(entries) {
        for (std::size_t i = 0; i < n_; ++i)
            if (reported[i] > 0 && reported[i] < 1) {
                inner_.push_back(i);
                const double odds = std::log(reported[i]) - std::log1p(-reported[i]);
                odds_.push_back(odds);
                again_.push_back(expit(odds));
                variance_.push_back(expit(-std::abs(odds)) * expit(std::abs(odds)));
                farthest_ = std::max(farthest_, std::abs(odds));
            }
    }

    // Shrunk isotonic regressions; NaN where a sample has no pairs.
    void shrunk_isotonic(const double* happened, const double* total, std::size_t samples, double* out) {
        start(happened, total, samples);
        for (std::size_t at = 0; at < samples; ++at) one(happened + at * n_, total + at * n_, out + at * n_);
    }

private:
    const double* reported_;
    std::size_t n_;
    std::vector<std::size_t> inner_;
    std::vector<double> odds_, again_, variance_;  // log-odds, their probability again, and p (1 - p)
    double farthest_ = 0;
    Line all_;  // over the log-odds, of all samples together
    std::vector<double> line_;
    Regression regression_;
    std::vector<std::size_t> some_, between_;  // entries of a sample, and which of those are between 0 and 1
    std::vector<double> happened_, total_, found_, bent_;
    Logarithms before_, after_;
    std::vector<Block> blocks_;

    struct Scale {
        double centre, spread;
    };

    // Entries of a sample with the pairs that are added to them: as many as reported happened, by leverage.
    Scale prepare(const double* happened, const double* total) {
        double weight = 0, centre = 0, spread = 0;
        auto& weights = regression_.total;  // until the pairs are known
        regression_.clear();
        for (std::size_t k = 0; k < inner_.size(); ++k) {
            weights.push_back(total[inner_[k]] * variance_[k]);
            weight += weights[k];
        }
        if (!(weight > 0)) {  // all may be so near 0 or 1 that the product is 0
            std::fill(weights.begin(), weights.end(), 1.0);
            weight = static_cast<double>(weights.size());
        }
        for (std::size_t k = 0; k < inner_.size(); ++k) centre += (weights[k] /= weight) * odds_[k];
        for (std::size_t k = 0; k < inner_.size(); ++k)
            spread += weights[k] * (odds_[k] - centre) * (odds_[k] - centre);
        spread = std::sqrt(spread);
        const bool spreads = spread > 1e-9 * (1 + farthest_);
        for (std::size_t k = 0; k < inner_.size(); ++k) {
            const double place = spreads ? (odds_[k] - centre) / spread : 0;
            const double added = weights[k] * (1 + place * place);
            regression_.odds.push_back(odds_[k]);
            regression_.place.push_back(place);
            regression_.happened.push_back(happened[inner_[k]] + added * again_[k]);
            weights[k] = total[inner_[k]] + added;
        }
        return {centre, spread};
    }

    // Samples begin with the line of all together, which is near that of each.
    void start(const double* happened, const double* total, std::size_t samples) {
        Regression all{odds_, odds_, std::vector<double>(odds_.size()), std::vector<double>(odds_.size()), {}};
        for (std::size_t at = 0; at < samples; ++at) {
            prepare(happened + at * n_, total + at * n_);
            for (std::size_t k = 0; k < inner_.size(); ++k) {
                all.happened[k] += regression_.happened[k] / static_cast<double>(samples);
                all.total[k] += regression_.total[k] / static_cast<double>(samples);
            }
        }
        all_ = all.fitted({});
    }

    // Logistic recalibration that does not fall, of what lies between 0 and 1; the rest as reported.
    void rising_line(const double* happened, const double* total) {
        std::copy(reported_, reported_ + n_, line_.begin());
        if (inner_.empty()) return;
        const Scale scale = prepare(happened, total);
        const Line line = regression_.fitted({all_.level + all_.slope * scale.centre, all_.slope * scale.spread});
        double sum = 0, of = 0;
        for (std::size_t k = 0; k < inner_.size(); ++k) {
            sum += regression_.happened[k];
            of += regression_.total[k];
        }
        const bool falls = line.slope < -scale.spread;  // beside the offset's slope of 1 over log-odds
        if (!falls) regression_.set(line);
        for (std::size_t k = 0; k < inner_.size(); ++k) line_[inner_[k]] = falls ? sum / of : regression_.now[k];
    }

    // What the log-likelihood of a sample gains where its entries between 0 and 1 are measured by other probabilities.
    double gained() {
        after_.set();
        before_.set();
        double sum = 0;
        for (std::size_t j = 0; j < between_.size(); ++j) {
            const double happened = happened_[between_[j]], missed = total_[between_[j]] - happened;
            sum += (happened == 0 ? 0 : happened * (after_.log[j] - before_.log[j])) +
                   (missed == 0 ? 0 : missed * (after_.log_of_rest[j] - before_.log_of_rest[j]));
        }
        return sum;
    }

    void one(const double* happened, const double* total, double* out) {
        rising_line(happened, total);
        for (auto* each : {&happened_, &total_, &found_, &bent_, &before_.p, &after_.p}) each->clear();
        some_.clear();
        between_.clear();
        for (std::size_t i = 0; i < n_; ++i) {
            out[i] = std::numeric_limits<double>::quiet_NaN();
            if (!(total[i] > 0)) continue;
            some_.push_back(i);
            happened_.push_back(happened[i]);
            total_.push_back(total[i]);
        }
        pooled(happened_.data(), total_.data(), some_.size(), blocks_);
        double chance = 0;
        std::size_t j = 0;
        for (const Block& block : blocks_) {
            double expected = 0;
            const std::size_t first = j;
            for (; j < block.end; ++j) expected += total_[j] * line_[some_[j]];
            const double frequency = block.happened / block.total;
            const double rarer = std::min(block.happened, block.total - block.happened);
            const double awaited = std::min(expected, block.total - expected);
            const double counted = std::max(rarer, awaited - SHRINKAGE), weight = counted / (counted + SHRINKAGE);
            chance += weight * (2 - weight);
            for (std::size_t k = first; k < block.end; ++k) {
                const double p = reported_[some_[k]], line = line_[some_[k]], bent = line + weight * (frequency - line);
                bent_.push_back(bent);
                found_.push_back(frequency);
                if (!(p > 0 && p < 1)) continue;
                between_.push_back(k);
                before_.p.push_back(line);
                after_.p.push_back(bent);
            }
        }
        const double gain = gained();
        const double share = gain > 0 ? std::max(1 - chance / (2 * gain), 0.0) : 0;
        for (std::size_t k = 0; k < some_.size(); ++k) {
            const double p = reported_[some_[k]], line = line_[some_[k]];
            if (p > 0 && p < 1) found_[k] = line + share * (bent_[k] - line);
            found_[k] *= total_[k];
        }
        // Line and blocks never fall, but from block to block the weight between them changes.
        pooled(found_.data(), total_.data(), some_.size(), blocks_);
        j = 0;
        for (const Block& block : blocks_)
            for (; j < block.end; ++j) out[some_[j]] = std::clamp(block.happened / block.total, 0.0, 1.0);
    }
};

}  // namespace curves

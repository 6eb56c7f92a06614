// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/pipeline.h"

#include "traces/kineto/header.h"
#include "traces/kineto/parse.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace echosim {
namespace {

struct Outcome {
    KinetoPiece piece;
    std::exception_ptr error;
};

// Parsers at work. Pieces go in with their number, outcomes are taken in order.
class Workers {
  public:
    Workers(const std::string& path, bool own, unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([this, path, own] { work(path, own); });
        }
    }
    ~Workers() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        pieces_.clear();
        wanted_.notify_all();
    }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void give(EventText piece) {
        const std::scoped_lock lock(mutex_);
        pieces_.emplace_back(given_++, std::move(piece));
        wanted_.notify_one();
    }

    // The next outcome in order, if it is there or is to be waited for.
    std::optional<Outcome> take(bool wait) {
        std::unique_lock lock(mutex_);
        if (taken_ == given_) {
            return std::nullopt;
        }
        if (wait) {
            done_.wait(lock, [&] { return outcomes_.contains(taken_); });
        }
        const auto found = outcomes_.find(taken_);
        if (found == outcomes_.end()) {
            return std::nullopt;
        }
        Outcome outcome = std::move(found->second);
        outcomes_.erase(found);
        ++taken_;
        return outcome;
    }

    std::size_t in_flight() {
        const std::scoped_lock lock(mutex_);
        return given_ - taken_;
    }

    std::optional<TextBuffer> spare() {
        const std::scoped_lock lock(mutex_);
        if (spares_.empty()) {
            return std::nullopt;
        }
        TextBuffer buffer = std::move(spares_.back());
        spares_.pop_back();
        return buffer;
    }

  private:
    void work(const std::string& path, bool own) {
        PieceParser parser(path, own);
        std::unique_lock lock(mutex_);
        while (true) {
            wanted_.wait(lock, [&] { return closed_ || !pieces_.empty(); });
            if (closed_) {
                return;
            }
            auto [number, piece] = std::move(pieces_.front());
            pieces_.pop_front();
            lock.unlock();
            Outcome outcome;
            try {
                outcome.piece = parser.parse(piece);
            } catch (...) {
                outcome.error = std::current_exception();
            }
            piece.buffer.resize(0);
            lock.lock();
            spares_.push_back(std::move(piece.buffer));
            outcomes_.emplace(number, std::move(outcome));
            done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wanted_;
    std::condition_variable done_;
    std::deque<std::pair<std::size_t, EventText>> pieces_;
    std::map<std::size_t, Outcome> outcomes_;
    std::vector<TextBuffer> spares_;
    std::size_t given_ = 0;
    std::size_t taken_ = 0;
    bool closed_ = false;
    std::vector<std::jthread> threads_; // last: the rest exists while they run
};

void join(KinetoTable& table, Outcome outcome) {
    if (outcome.error) {
        std::rethrow_exception(outcome.error);
    }
    table.join(std::move(outcome.piece));
}

} // namespace

ParsedTrace parse_pieces(TraceScanner& scanner, const std::string& path, bool assume_own, unsigned threads) {
    ParsedTrace out;
    std::optional<EventText> piece = scanner.next(std::nullopt);
    out.own = assume_own || is_own_document(scanner.document());
    if (!piece) {
        return out;
    }
    Workers workers(path, out.own, threads);
    std::exception_ptr scan_error; // behind all pieces that came before it
    while (piece) {
        workers.give(std::move(*piece));
        bool full = workers.in_flight() > 2 * std::size_t{threads};
        while (std::optional<Outcome> outcome = workers.take(full)) {
            join(out.table, std::move(*outcome));
            full = false;
        }
        try {
            piece = scanner.next(workers.spare());
        } catch (...) {
            scan_error = std::current_exception();
            piece.reset();
        }
    }
    while (std::optional<Outcome> outcome = workers.take(true)) {
        join(out.table, std::move(*outcome));
    }
    if (scan_error) {
        std::rethrow_exception(scan_error);
    }
    return out;
}

} // namespace echosim

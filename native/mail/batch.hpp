// Messages read together, by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "features.hpp"
#include "message.hpp"

namespace suffice::mail {

// Calls work(first, last) for stretches of 0..count from several threads, and passes the first exception on.
template <class Work>
void in_threads(std::size_t count, std::size_t threads, Work&& work) {
    constexpr std::size_t stretch = 16;
    threads = std::clamp<std::size_t>((count + stretch - 1) / stretch, 1, std::max<std::size_t>(threads, 1));
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex once;
    const auto run = [&] {
        try {
            for (;;) {
                const std::size_t first = next.fetch_add(stretch);
                if (first >= count) return;
                work(first, std::min(count, first + stretch));
            }
        } catch (...) {
            const std::lock_guard guard(once);
            if (!failed) failed = std::current_exception();
            next = count;
        }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
    run();
    for (std::thread& other : others) other.join();
    if (failed) std::rethrow_exception(failed);
}

// The messages of a batch: read by the constructor, made features by finish(), between which text in characters that only
// others can read may be put in.
class Batch {
public:
    Batch() = default;
    Batch(Batch&&) = default;
    Batch& operator=(Batch&&) = default;

    Batch(std::vector<std::string_view> raw, std::size_t threads) : raw_(std::move(raw)), messages_(raw_.size()) {
        const Limits limits;
        in_threads(size(), threads, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) messages_[i] = std::make_unique<Message>(raw_[i], limits);
        });
    }

    std::size_t size() const { return raw_.empty() ? features.size() : raw_.size(); }
    // The message at a place, until it is made features.
    Message& message(std::size_t i) {
        if (i >= messages_.size() || !messages_[i]) throw std::out_of_range("there is no message at this place any more");
        return *messages_[i];
    }
    bool finished() const { return messages_.empty() || !messages_.front(); }

    void finish(std::size_t threads) {
        if (finished()) return;
        features.resize(size());
        troubles.resize(size());
        in_threads(size(), threads, [&](std::size_t first, std::size_t last) {
            thread_local Extractor extract;
            for (std::size_t i = first; i < last; ++i) {
                const std::vector<Piece> pieces = messages_[i]->pieces();
                for (const Piece& piece : pieces) {
                    if (piece.kind == Kind::trouble) troubles[i].push_back(piece);
                }
                features[i] = extract(pieces, raw_[i].substr(find_head(raw_[i]).begin));
                messages_[i].reset();
                if (features[i].more) {
                    troubles[i].push_back({Kind::trouble, "tokens", "more than " + std::to_string(kTokens) + " tokens"});
                }
            }
        });
    }

    std::vector<Features> features;
    std::vector<std::vector<Piece>> troubles;

private:
    std::vector<std::string_view> raw_;
    std::vector<std::unique_ptr<Message>> messages_;
};

}  // namespace suffice::mail

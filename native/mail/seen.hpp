// What was met already, each thing once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../text/slots.hpp"

namespace suffice::mail {

// A set of hashes that is emptied without touching all of it, and stays small while it holds little.
class Seen {
public:
    explicit Seen(std::size_t fewest) : fewest_(fewest), slots_(fewest) {}  // a power of two

    void clear() {
        if (slots_.size() > fewest_) slots_.assign(fewest_, Slot());
        count_ = 0;
        if (++round_ == 0) {
            std::fill(slots_.begin(), slots_.end(), Slot());
            round_ = 1;
        }
    }

    // Whether the hash is new.
    bool add(std::uint64_t hash) {
        Slot& slot = slots_[place(hash)];
        if (slot.round == round_) return false;
        slot = {hash, round_};
        if (2 * ++count_ > slots_.size()) grow();
        return true;
    }

private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t round = 0;
    };

    // Where a hash is, or where it would go.
    std::size_t place(std::uint64_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = text::slot_key(hash) & mask;
        while (slots_[i].round == round_ && slots_[i].hash != hash) i = (i + 1) & mask;
        return i;
    }

    void grow() {
        std::vector<Slot> old(4 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.round == round_) slots_[place(slot.hash)] = slot;
        }
    }

    std::size_t fewest_;
    std::vector<Slot> slots_;
    std::size_t count_ = 0;
    std::uint32_t round_ = 1;
};

}  // namespace suffice::mail

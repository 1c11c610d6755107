// `Memo`: the ids of words that were met before. Of fixed size; one thread at a time.
#pragma once

#include <cstdint>
#include <cstring>

#include "pages.h"
#include "text.h"

namespace ivy {

// How a word ends, for the space that may follow from it.
enum class Ending : uint8_t { INK, SPACE, NOTHING };

class Memo {
   public:
    // A cache line: the word, padded to whole numbers, and its ids.
    struct alignas(64) Slot {
        uint32_t tag = 0;
        uint8_t size = 0;  // 0: nothing is in it.
        uint8_t count = 0;
        Ending ending = Ending::INK;
        Byte room[56];

        const int32_t* ids() const { return reinterpret_cast<const int32_t*>(room + padded(size)); }
    };
    static constexpr size_t LONGEST = sizeof(Slot::room);

    Memo() : slots_(SLOTS) {}

    static bool fits(size_t size) { return size <= LONGEST; }

    // Begins to bring in what `find` will look at.
    void prepare(uint64_t hash) const {
        __builtin_prefetch(&slots_[place(hash)]);
        __builtin_prefetch(&slots_[place(hash) ^ 1]);
    }

    // The slot of a word that fits, or null.
    const Slot* find(Span word, uint64_t hash) {
        Slot* slot = &slots_[place(hash)];
        if (holds(*slot, word, hash)) return slot;
        Slot* other = &slots_[place(hash) ^ 1];
        return holds(*other, word, hash) ? other : nullptr;
    }

    // Keeps the ids of a word that fits, if there is room for them; the word that was met longer ago goes.
    void keep(Span word, uint64_t hash, const int32_t* ids, size_t count, Ending ending) {
        if (padded(word.size()) + 4 * count > LONGEST) return;
        Slot& slot = slots_[place(hash)];
        slots_[place(hash) ^ 1] = slot;
        slot.tag = tag(hash);
        slot.size = static_cast<uint8_t>(word.size());
        slot.count = static_cast<uint8_t>(count);
        slot.ending = ending;
        std::memcpy(slot.room, word.begin, word.size());
        std::memcpy(slot.room + padded(word.size()), ids, 4 * count);
    }

    // Of a word that fits and is not empty.
    static uint64_t hash(Span word) {
        const Byte* at = word.begin;
        size_t left = word.size();
        uint64_t state = 0x9E3779B97F4A7C15u ^ left;
        for (; left > 16; left -= 16, at += 16) state = mixed(load8(at) ^ state, load8(at + 8) ^ ODD);
        if (left >= 8) return mixed(load8(at) ^ state, load8(at + left - 8) ^ ODD);
        if (left >= 4) return mixed(load4(at) ^ state, load4(at + left - 4) ^ ODD);
        return mixed((uint64_t{at[0]} << 16 | uint64_t{at[left / 2]} << 8 | at[left - 1]) ^ state, ODD);
    }

   private:
    static constexpr size_t SLOTS = 1 << 17;
    static constexpr uint64_t ODD = 0xD6E8FEB86659FD93u;

    static constexpr size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }
    static size_t place(uint64_t hash) { return hash & (SLOTS - 1); }
    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
    static bool holds(const Slot& slot, Span word, uint64_t hash) {
        return slot.tag == tag(hash) && slot.size == word.size() && !std::memcmp(slot.room, word.begin, word.size());
    }
    static uint64_t load8(const Byte* at) {
        uint64_t value;
        std::memcpy(&value, at, 8);
        return value;
    }
    static uint64_t load4(const Byte* at) {
        uint32_t value;
        std::memcpy(&value, at, 4);
        return value;
    }
    static uint64_t mixed(uint64_t one, uint64_t two) {
        const unsigned __int128 product = static_cast<unsigned __int128>(one) * two;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }

    Paged<Slot> slots_;
};

}  // namespace ivy

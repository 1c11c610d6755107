// `Characters`: what becomes of each code point. Told in blocks, of which none is known at first.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "text.h"

namespace ivy {

constexpr uint32_t BLOCK = 256;
constexpr uint32_t BLOCKS = 0x110000 / BLOCK;

// What a code point is to its neighbours. The numbers are those that Python sends.
enum class Kind : uint8_t { PLAIN, JOINS, CONTROL, PREPENDS, MOVES, UNSURE };

struct Character {
    Kind kind = Kind::PLAIN;
    bool same = true;  // It stands for itself.
    uint16_t size = 0;
    uint32_t offset = 0;
};

class Characters {
   public:
    ~Characters() {
        for (auto& block : blocks_) delete block.load();
    }

    // Tells a block. `sizes[i]` bytes of `texts` replace its code point i; -1 leaves it as it is.
    void tell(uint32_t number, const uint8_t* kinds, const int32_t* sizes, const Byte* texts) {
        auto block = std::make_unique<Block>();
        for (uint32_t place = 0; place < BLOCK; ++place) {
            Character& one = block->characters[place];
            one.kind = static_cast<Kind>(kinds[place]);
            one.same = sizes[place] < 0;
            if (one.same) continue;
            one.offset = static_cast<uint32_t>(block->texts.size());
            one.size = static_cast<uint16_t>(sizes[place]);
            block->texts.append(reinterpret_cast<const char*>(texts), one.size);
            texts += one.size;
        }
        // Who reads meanwhile has seen no block here, or sees all of it. The first one stays.
        const Block* none = nullptr;
        if (blocks_[number].compare_exchange_strong(none, block.get(), std::memory_order_acq_rel)) block.release();
    }

    bool knows(uint32_t point) const { return blocks_[point / BLOCK].load(std::memory_order_acquire) != nullptr; }

    // Of a code point that is known.
    Character find(uint32_t point) const { return block(point)->characters[point % BLOCK]; }

    // What stands for a known code point, which is written at `at`.
    Span text(uint32_t point, Character one, const Byte* at) const {
        if (one.same) return {at, at + length_of(*at)};
        const Byte* found = reinterpret_cast<const Byte*>(block(point)->texts.data()) + one.offset;
        return {found, found + one.size};
    }

    // Numbers of the blocks that a text needs and that nobody has told yet.
    void missing(Span text, std::vector<int32_t>& found) const {
        std::vector<bool> seen(BLOCKS, false);
        for (const Byte* at = text.begin; at < text.end; at += length_of(*at)) {
            const uint32_t point = decode(at, length_of(*at));
            if (knows(point) || seen[point / BLOCK]) continue;
            seen[point / BLOCK] = true;
            found.push_back(static_cast<int32_t>(point / BLOCK));
        }
    }

   private:
    struct Block {
        std::array<Character, BLOCK> characters;
        std::string texts;
    };
    const Block* block(uint32_t point) const { return blocks_[point / BLOCK].load(std::memory_order_acquire); }

    std::array<std::atomic<const Block*>, BLOCKS> blocks_{};
};

}  // namespace ivy

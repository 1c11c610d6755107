// `Charsmap`: the normalization that SentencePiece compiles into a model: a double array of Darts and the texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text.h"

namespace ivy {

class Charsmap {
   public:
    // Little-endian: the size of the array in bytes, the array, and texts that end with a zero each.
    explicit Charsmap(Span blob) {
        const uint32_t size = number(blob.begin);
        units_.resize(size / 4);
        for (size_t place = 0; place < units_.size(); ++place) units_[place] = number(blob.begin + 4 + 4 * place);
        texts_.assign(reinterpret_cast<const char*>(blob.begin + 4 + size), blob.size() - 4 - size);
    }

    // What stands for `text`: that of the shortest beginning which has an entry, however much follows. False: nothing.
    bool match(Span text, Span& found) const {
        uint32_t place = 0;
        uint32_t unit = at(place);
        place ^= offset(unit);
        for (const Byte* byte = text.begin; byte < text.end && *byte; ++byte) {
            place ^= *byte;
            unit = at(place);
            if ((unit & (1u << 31 | 0xFF)) != *byte) return false;
            place ^= offset(unit);
            if (!(unit >> 8 & 1)) continue;
            found = from(at(place) & 0x7FFFFFFF);
            return true;
        }
        return false;
    }

   private:
    static uint32_t number(const Byte* at) {
        return uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
    }
    static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
    // Beyond the array nothing begins with anything.
    uint32_t at(uint32_t place) const { return place < units_.size() ? units_[place] : 1u << 31; }

    Span from(uint32_t start) const {
        const Byte* begin = reinterpret_cast<const Byte*>(texts_.c_str()) + std::min<size_t>(start, texts_.size());
        return {begin, begin + std::strlen(reinterpret_cast<const char*>(begin))};
    }

    std::vector<uint32_t> units_;
    std::string texts_;
};

}  // namespace ivy

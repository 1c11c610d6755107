// Text as bytes of valid UTF-8: what a code point is, and what counts as white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ivy {

using Byte = unsigned char;

// A piece of a text, [begin, end).
struct Span {
    const Byte* begin;
    const Byte* end;
    size_t size() const { return static_cast<size_t>(end - begin); }
    bool empty() const { return begin == end; }
};

inline int length_of(Byte lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

inline uint32_t decode(const Byte* at, int length) {
    switch (length) {
        case 1: return at[0];
        case 2: return (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
        case 3: return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        default: return (at[0] & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
    }
}

// Writes a code point; gives its length.
inline int write_point(uint32_t point, Byte* to) {
    if (point < 0x80) {
        to[0] = static_cast<Byte>(point);
        return 1;
    }
    const int length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int place = length - 1; place > 0; --place, point >>= 6) to[place] = static_cast<Byte>(0x80 | (point & 0x3F));
    to[0] = static_cast<Byte>((0xF00 >> length) | point);
    return length;
}

// Where the code point begins that ends before `at`.
inline const Byte* before(const Byte* at) {
    do --at;
    while ((*at & 0xC0) == 0x80);
    return at;
}

// The property White_Space of Unicode, which has not changed since version 6.3.
inline bool is_space(uint32_t point) {
    if (point < 0x80) return point == ' ' || (point >= 9 && point <= 13);
    return point == 0x85 || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
           point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

}  // namespace ivy

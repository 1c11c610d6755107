// `Context`: what one call to a tokenizer works with, and what it leaves behind. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memo.h"
#include "text.h"

namespace ivy {

enum class State : uint8_t {
    SURE,
    MISSING,  // A block of characters must be told first.
    UNSURE,   // The rules here do not say what the ids are.
};

// The best way to the end of a prefix of a word.
struct Best {
    double score;
    int32_t from;  // Where its last piece begins; -1: nobody came here.
    int32_t node;  // Of the trie, where that piece ends; -1: it is unknown.
};

// A piece that begins at a known place: where it ends, and the node of the trie.
struct Edge {
    int32_t end;
    int32_t node;
};

struct Context {
    static constexpr size_t FEW = 1 << 18;

    State state = State::SURE;
    std::vector<int32_t> ids;
    std::vector<int32_t> missing;

    Memo memo;
    std::string normal;
    std::string marked;
    std::vector<Best> path;
    std::vector<Edge> edges;

    bool sure() const { return state == State::SURE; }

    // Gives back what only an endless word needs.
    void settle() {
        if (path.capacity() <= FEW) return;
        path = {};
        normal = {};
        marked = {};
    }
};

inline Span span_of(const std::string& text) {
    const Byte* begin = reinterpret_cast<const Byte*>(text.data());
    return {begin, begin + text.size()};
}

inline void append(std::string& to, Span text) { to.append(reinterpret_cast<const char*>(text.begin), text.size()); }

// Calls `word` with each part between spaces (the ASCII one).
template <class Word>
void split(Span text, Word word) {
    const Byte* begin = text.begin;
    while (begin < text.end) {
        const Byte* end = static_cast<const Byte*>(std::memchr(begin, ' ', static_cast<size_t>(text.end - begin)));
        if (!end) end = text.end;
        if (end > begin) word(Span{begin, end});
        begin = end + 1;
    }
}

}  // namespace ivy

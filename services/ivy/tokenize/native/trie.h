// `Trie`: a vocabulary as a double array, walked byte by byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "pages.h"
#include "text.h"

namespace ivy {

// Pieces of a vocabulary, one after the other in `bytes`.
struct Vocabulary {
    const Byte* bytes;
    const int32_t* ends;
    const int32_t* ids;
    const double* scores;
    int32_t count;

    Span piece(int32_t place) const { return {bytes + (place ? ends[place - 1] : 0), bytes + ends[place]}; }
};

class Trie {
   public:
    static constexpr int32_t ROOT = 0;
    static constexpr int32_t NOWHERE = -1;

    // Raises std::length_error: there are more pieces than a trie has room for.
    explicit Trie(const Vocabulary& vocabulary) : vocabulary_(vocabulary), order_(vocabulary.count) {
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return less(a, b); });
        grow(ALPHABET * 2);
        build(ROOT, 0, static_cast<int32_t>(order_.size()), 0);
        order_ = {};
        based_ = {};
    }

    int32_t step(int32_t node, Byte byte) const {
        const uint32_t next = (units_[node] >> BASE) + byte;
        return (units_[next] & LABEL) == byte ? static_cast<int32_t>(next) : NOWHERE;
    }
    int32_t walk(int32_t node, Span text) const {
        for (const Byte* at = text.begin; at < text.end && node != NOWHERE; ++at) node = step(node, *at);
        return node;
    }
    // Begin to bring in what a step reads, and what is known of the piece that ends in a node.
    void prepare(int32_t node, Byte byte) const { __builtin_prefetch(&units_[(units_[node] >> BASE) + byte]); }
    void prepare_piece(int32_t node) const {
        __builtin_prefetch(&scores_[node]);
        __builtin_prefetch(&ids_[node]);
    }
    // Bytes of the longest piece.
    size_t depth() const { return depth_; }
    // Whether a piece ends in a node; its id and its score.
    bool ends(int32_t node) const { return units_[node] & END; }
    int32_t id(int32_t node) const { return ids_[node]; }
    double score(int32_t node) const { return scores_[node]; }

   private:
    static constexpr int32_t ALPHABET = 256;
    // A unit: the byte that leads to the node, or FREE; whether a piece ends in it; where its children are counted from.
    // No two nodes count from the same place, so the byte says whose child a node is.
    static constexpr uint32_t LABEL = 0x1FF, FREE = 0x100, END = 0x200;
    static constexpr int BASE = 10;
    static constexpr size_t MOST = size_t{1} << (32 - BASE);
    static constexpr int32_t SCATTERED = 64;
    struct Child {
        Byte byte;
        int32_t first, last;
    };

    bool less(int32_t a, int32_t b) const {
        const Span one = vocabulary_.piece(a), two = vocabulary_.piece(b);
        const int found = std::memcmp(one.begin, two.begin, std::min(one.size(), two.size()));
        // Of two equal pieces the last one counts.
        return found ? found < 0 : one.size() != two.size() ? one.size() < two.size() : a < b;
    }

    // Places the pieces [first, last), which share their first `depth` bytes, below `node`.
    void build(int32_t node, int32_t first, int32_t last, size_t depth) {
        depth_ = std::max(depth_, depth);
        for (; first < last && vocabulary_.piece(order_[first]).size() == depth; ++first) {
            ids_[node] = vocabulary_.ids[order_[first]];
            units_[node] |= END;
            scores_[node] = vocabulary_.scores[order_[first]];
        }
        std::vector<Child> children;
        for (int32_t at = first; at < last; ++at) {
            const Byte byte = vocabulary_.piece(order_[at]).begin[depth];
            if (children.empty() || children.back().byte != byte) children.push_back({byte, at, at});
            children.back().last = at + 1;
        }
        if (children.empty()) return;
        const int32_t base = place(children);
        based_[base] = true;
        units_[node] |= static_cast<uint32_t>(base) << BASE;
        for (const Child& child : children) units_[base + child.byte] = child.byte;
        for (const Child& child : children) build(base + child.byte, child.first, child.last, depth + 1);
    }

    bool taken(int32_t place) const { return (units_[place] & LABEL) != FREE; }

    // A base from which the places of all children are free.
    int32_t place(const std::vector<Child>& children) {
        while (taken(free_)) step_free();
        int32_t tries = 0;
        for (int32_t at = free_;; ++at) {
            if (at + ALPHABET >= static_cast<int32_t>(units_.size())) grow(units_.size() * 2);
            const int32_t base = at - children.front().byte;
            const auto is_taken = [&](const Child& child) { return taken(base + child.byte); };
            if (!based_[base] && std::none_of(children.begin(), children.end(), is_taken)) return base;
            // What is free here is too scattered: do not look at it again and again.
            if (++tries > SCATTERED) step_free();
        }
    }

    void step_free() {
        if (++free_ + ALPHABET >= static_cast<int32_t>(units_.size())) grow(units_.size() * 2);
    }

    void grow(size_t size) {
        if (size > MOST) throw std::length_error("a vocabulary");
        units_.resize(size, FREE);
        scores_.resize(size);
        ids_.resize(size);
        based_.resize(size, false);
    }

    Vocabulary vocabulary_;  // Its arrays are the caller's, and gone after construction.
    std::vector<int32_t> order_;
    std::vector<bool> based_;
    Paged<uint32_t> units_;
    Paged<double> scores_;  // Of the pieces that end in nodes.
    Paged<int32_t> ids_;
    size_t depth_ = 0;
    int32_t free_ = ALPHABET + 1;
};

}  // namespace ivy

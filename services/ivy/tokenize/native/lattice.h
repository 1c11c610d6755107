// `Lattice`: the most likely pieces of one word.
//
// The vocabulary is larger than the caches of a processor. So the pieces that begin at several places are looked for at
// the same time, each a byte further in turn: what one needs next is on its way while the others are looked at.
#pragma once

#include <algorithm>
#include <array>

#include "context.h"
#include "trie.h"

namespace ivy {

constexpr Byte MARK[3] = {0xE2, 0x96, 0x81};  // U+2581 stands for a space.

struct Unknown {
    int32_t id;
    double score;
};

class Lattice {
   public:
    Lattice(const Vocabulary& vocabulary, Unknown unknown)
        : trie_(vocabulary), unknown_(unknown), marked_(trie_.walk(Trie::ROOT, {MARK, MARK + SHIFT})) {}

    // Appends the ids of the best pieces of a mark and the text after it. Of equal ones the first that is found stays.
    void append(Context& context, Span text) const {
        const int32_t size = static_cast<int32_t>(text.size()) + SHIFT;
        context.path.assign(static_cast<size_t>(size) + 1, {0.0, -1, -1});
        context.edges.resize(TOGETHER * (trie_.depth() + 1));
        std::array<Walk, TOGETHER> walks;
        size_t count = begin(context, walks[0], text);
        for (int32_t at = SHIFT; at < size || count;) {
            for (; count < TOGETHER && at < size; at = walks[count++].single) {
                const Byte* byte = text.begin + at - SHIFT;
                walks[count] = {at, at + length_of(*byte), byte, at, Trie::ROOT, 0};
            }
            search(context, walks, count, text.end);
            for (size_t each = 0; each < count; ++each) offer(context, walks[each], each);
            count = 0;
        }
        back(context, size);
    }

   private:
    static constexpr int32_t SHIFT = 3;  // Places of a word count the mark.
    static constexpr size_t TOGETHER = 16;

    // The pieces that begin at one place, as far as they are read.
    struct Walk {
        int32_t from;
        int32_t single;  // Where the code point there ends.
        const Byte* next;
        int32_t at;  // Place of `next`.
        int32_t node;
        size_t found;  // How many edges.
    };

    Edge* edges(Context& context, size_t walk) const { return &context.edges[walk * (trie_.depth() + 1)]; }

    // The walk from the mark on, which the text does not hold.
    size_t begin(Context& context, Walk& walk, Span text) const {
        walk = {0, SHIFT, text.begin, SHIFT, marked_, 0};
        if (marked_ != Trie::NOWHERE && trie_.ends(marked_)) edges(context, 0)[walk.found++] = {SHIFT, marked_};
        return 1;
    }

    // Reads on in all walks by turns, until none has a piece before it.
    void search(Context& context, std::array<Walk, TOGETHER>& walks, size_t count, const Byte* end) const {
        std::array<size_t, TOGETHER> active;
        size_t left = 0;
        for (size_t each = 0; each < count; ++each)
            if (prepared(walks[each], end)) active[left++] = each;
        while (left) {
            size_t still = 0;
            for (size_t place = 0; place < left; ++place) {
                const size_t each = active[place];
                if (!read(walks[each], edges(context, each))) continue;
                if (prepared(walks[each], end)) active[still++] = each;
            }
            left = still;
        }
    }

    // Whether there is a byte to read; begins to bring in where it leads.
    bool prepared(const Walk& walk, const Byte* end) const {
        if (walk.node == Trie::NOWHERE || walk.next == end) return false;
        trie_.prepare(walk.node, *walk.next);
        return true;
    }

    bool read(Walk& walk, Edge* found) const {
        walk.node = trie_.step(walk.node, *walk.next++);
        ++walk.at;
        if (walk.node == Trie::NOWHERE) return false;
        if (trie_.ends(walk.node)) {
            found[walk.found++] = {walk.at, walk.node};
            trie_.prepare_piece(walk.node);
        }
        return true;
    }

    // Offers the pieces of a walk to the places where they end. A code point that is no piece of its own is unknown.
    void offer(Context& context, const Walk& walk, size_t place) const {
        Best* path = context.path.data();
        const double before = path[walk.from].score;
        bool known = false;
        const Edge* found = edges(context, place);
        for (const Edge* edge = found; edge < found + walk.found; ++edge) {
            better(path[edge->end], {trie_.score(edge->node) + before, walk.from, edge->node});
            known |= edge->end == walk.single;
        }
        if (!known) better(path[walk.single], {unknown_.score + before, walk.from, -1});
    }

    // Of two equal ones the first stays.
    static void better(Best& best, const Best& other) {
        if (best.from < 0 || other.score > best.score) best = other;
    }

    // Appends the ids of the best path; what is unknown in a row is one token.
    void back(Context& context, int32_t size) const {
        const auto first = static_cast<std::ptrdiff_t>(context.ids.size());
        bool unknown = false;
        for (int32_t at = size; at > 0; at = context.path[static_cast<size_t>(at)].from) {
            const int32_t node = context.path[static_cast<size_t>(at)].node;
            const int32_t id = node < 0 ? unknown_.id : trie_.id(node);
            if (id != unknown_.id || !unknown) context.ids.push_back(id);
            unknown = id == unknown_.id;
        }
        std::reverse(context.ids.begin() + first, context.ids.end());
    }

    Trie trie_;
    Unknown unknown_;
    int32_t marked_;
};

}  // namespace ivy

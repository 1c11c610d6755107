// `WordPiece`: BERT's words and pieces of words.
//
// `Characters` holds for each code point what the normalizer makes of it, with a space wherever a word ends: those of
// a punctuation mark stand on both of its sides. So the words of a text are what lies between spaces, and two parts of
// a text that a separator or a mark of ASCII parts can be read one by one.
#pragma once

#include <array>
#include <string>

#include "ahead.h"
#include "characters.h"
#include "context.h"
#include "trie.h"

namespace ivy {

struct WordPieceRules {
    Span prefix;  // Of pieces that do not begin a word.
    int32_t unknown;
    int32_t longest;  // Code points of a word.
};

class WordPiece {
   public:
    Characters characters;

    WordPiece(const Vocabulary& vocabulary, const WordPieceRules& rules)
        : trie_(vocabulary), inner_(trie_.walk(Trie::ROOT, rules.prefix)), unknown_(rules.unknown), longest_(rules.longest) {}

    // To be called when the block of ASCII is told.
    void know_ascii() {
        for (uint32_t point = 0; point < 0x80; ++point) {
            const Byte byte = static_cast<Byte>(point);
            const Span text = characters.text(point, characters.find(point), &byte);
            const bool spaced = text.size() && text.begin[0] == ' ' && text.end[-1] == ' ';
            roles_[point] = !spaced ? WORD : text.size() == 1 ? SEPARATOR : text.size() == 3 ? MARK : WORD;
            if (roles_[point] == MARK) marks_[point] = mark(text.begin + 1);
        }
    }

    bool separates(Byte byte) const { return roles_[byte] == SEPARATOR; }

    // Appends the ids of a section: all of them, or at least `wanted` in all.
    void section(Context& context, Span text, size_t wanted) const {
        const auto scan = [this](const Byte* at, const Byte* end, Item& item) { return item_at(at, end, item); };
        Ahead ahead(context.memo, text, scan);
        for (Item item; context.ids.size() < wanted && context.sure() && ahead.next(item);) {
            if (!item.raw.empty()) word(context, item.raw, item.hash);
            else if (item.note != NO_MARK) context.ids.push_back(item.note);
        }
    }

   private:
    enum Role : Byte { WORD, SEPARATOR, MARK };
    static constexpr int32_t NO_MARK = -1;

    // A word, or a mark whose id is the note.
    const Byte* item_at(const Byte* at, const Byte* end, Item& item) const {
        while (at < end && roles_[*at] == SEPARATOR) ++at;
        item.raw = {at, at};
        item.note = NO_MARK;
        if (at == end) return at;
        if (roles_[*at] == MARK) item.note = marks_[*at];
        else while (at + 1 < end && roles_[at[1]] == WORD) ++at;
        item.raw.end = item.note == NO_MARK ? at + 1 : at;
        return at + 1;
    }

    int32_t mark(const Byte* at) const {
        const int32_t node = trie_.step(Trie::ROOT, *at);
        return node != Trie::NOWHERE && trie_.ends(node) ? trie_.id(node) : unknown_;
    }

    void word(Context& context, Span raw, uint64_t hash) const {
        if (!Memo::fits(raw.size())) return read(context, raw);
        if (const Memo::Slot* slot = context.memo.find(raw, hash)) {
            context.ids.insert(context.ids.end(), slot->ids(), slot->ids() + slot->count);
            return;
        }
        const size_t first = context.ids.size();
        read(context, raw);
        if (context.sure())
            context.memo.keep(raw, hash, context.ids.data() + first, context.ids.size() - first, Ending::INK);
    }

    void read(Context& context, Span raw) const {
        if (!normalize(context, raw)) return;
        split(span_of(context.normal), [&](Span one) { pieces(context, one); });
    }

    bool normalize(Context& context, Span raw) const {
        context.normal.clear();
        bool moves = false;
        for (const Byte* at = raw.begin; at < raw.end; at += length_of(*at)) {
            const uint32_t point = decode(at, length_of(*at));
            if (!characters.knows(point)) {
                context.state = State::MISSING;
                return false;
            }
            const Character one = characters.find(point);
            const Span text = characters.text(point, one, at);
            // Two marks that stay, one beside the other: their order may change.
            if (one.kind == Kind::UNSURE || (moves && one.kind == Kind::MOVES)) {
                context.state = State::UNSURE;
                return false;
            }
            if (!text.empty()) moves = one.kind == Kind::MOVES;
            append(context.normal, text);
        }
        return true;
    }

    // The longest piece that fits, again and again; a word that cannot be read to its end is one unknown token.
    void pieces(Context& context, Span word) const {
        const size_t first = context.ids.size();
        const Byte* at = too_long(word) ? nullptr : word.begin;
        for (int32_t from = Trie::ROOT; at && at < word.end; from = inner_) {
            const Byte* end = nullptr;
            int32_t node = from, id = -1;
            for (const Byte* next = at; node != Trie::NOWHERE && next < word.end;) {
                node = trie_.step(node, *next++);
                if (node == Trie::NOWHERE || !trie_.ends(node)) continue;
                id = trie_.id(node);
                end = next;
            }
            at = end;
            if (end) context.ids.push_back(id);
        }
        if (at) return;
        context.ids.resize(first);
        context.ids.push_back(unknown_);
    }

    bool too_long(Span word) const {
        if (word.size() <= static_cast<size_t>(longest_)) return false;
        int32_t points = 0;
        for (const Byte* at = word.begin; at < word.end; ++at) points += (*at & 0xC0) != 0x80;
        return points > longest_;
    }

    Trie trie_;
    int32_t inner_;
    int32_t unknown_;
    int32_t longest_;
    std::array<Byte, 256> roles_{};
    std::array<int32_t, 128> marks_{};
};

}  // namespace ivy

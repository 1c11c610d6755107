// `Unigram`: the most likely pieces of each word, with the spaces of SentencePiece.
//
// A word is what lies between separators of ASCII. Its ids depend on it alone, unless its first or its last character
// could go on beyond the space, or it has the mark of a space in it: then the whole section is read at once.
#pragma once

#include <array>
#include <string>

#include "ahead.h"
#include "context.h"
#include "graphemes.h"
#include "lattice.h"

namespace ivy {

struct UnigramRules {
    Unknown unknown;
    int32_t words_only;  // Spaces of every kind part words, and leave no token.
    int32_t no_trailing;  // Spaces at the end leave no token.
};

class Unigram {
   public:
    Graphemes graphemes;

    Unigram(const Vocabulary& vocabulary, Span charsmap, const UnigramRules& rules)
        : graphemes(charsmap), lattice_(vocabulary, rules.unknown), rules_(rules) {}

    // To be called when the block of ASCII is told.
    void know_ascii() {
        for (const Byte byte : {'\t', '\n', '\r', ' '}) {
            const Span text = graphemes.characters.text(byte, graphemes.characters.find(byte), &byte);
            separates_[byte] = text.size() == 1 && text.begin[0] == ' ';
        }
    }

    bool separates(Byte byte) const { return separates_[byte]; }

    // Appends the ids of a section: all of them, or at least `wanted` in all.
    void section(Context& context, Span text, size_t wanted) const {
        Ending ending = Ending::NOTHING;
        while (!text.empty() && context.ids.size() < wanted && context.sure())
            text.begin = words(context, text, wanted, ending);
        if (ending == Ending::SPACE && context.ids.size() < wanted && leaves_trailing()) lattice_.append(context, {});
    }

   private:
    // After a word that stands alone and ends in ink: what follows begins with a space, and knows nothing of the word.
    struct Cut {
        const Byte* at;
        size_t count;
    };

    // Appends the ids of words up to the first that does not stand alone, and those of what is around it. Gives where
    // to go on.
    const Byte* words(Context& context, Span text, size_t wanted, Ending& ending) const {
        Cut cut{text.begin, context.ids.size()};
        const auto scan = [this](const Byte* at, const Byte* end, Item& item) { return item_at(at, end, item); };
        Ahead ahead(context.memo, text, scan);
        for (Item item; context.ids.size() < wanted && ahead.next(item);) {
            if (item.note == SPACED) ending = Ending::SPACE;
            if (item.raw.empty()) continue;
            if (!word(context, item.raw, item.hash, ending)) {
                context.ids.resize(cut.count);
                const Byte* end = end_of_trouble(context, {item.raw.end, text.end});
                whole(context, {cut.at, end});
                ending = end == text.end ? Ending::NOTHING : Ending::INK;
                return end;
            }
            if (ending == Ending::INK) cut = {item.raw.end, context.ids.size()};
        }
        return text.end;
    }

    static constexpr int32_t SPACED = 1;

    // Separators and the word after them.
    const Byte* item_at(const Byte* at, const Byte* end, Item& item) const {
        item.note = separates_[*at] ? SPACED : 0;
        while (at < end && separates_[*at]) ++at;
        item.raw.begin = at;
        while (at < end && !separates_[*at]) ++at;
        item.raw.end = at;
        return at;
    }

    bool leaves_trailing() const { return !rules_.words_only && !rules_.no_trailing; }

    // The next cut after a word that does not stand alone, or the end of the text.
    const Byte* end_of_trouble(Context& context, Span text) const {
        const size_t count = context.ids.size();
        for (const Byte* at = text.begin; at < text.end && context.sure();) {
            Item item;
            at = item_at(at, text.end, item);
            const Span raw = item.raw;
            if (raw.empty()) break;
            Ending ending = Ending::NOTHING;
            const bool alone = word(context, raw, Memo::fits(raw.size()) ? Memo::hash(raw) : 0, ending);
            context.ids.resize(count);
            if (!context.sure()) return text.end;
            if (alone && ending == Ending::INK) return at;
        }
        return text.end;
    }

    // False: its ids are not sure, or depend on what is around it.
    bool word(Context& context, Span raw, uint64_t hash, Ending& ending) const {
        const bool fits = Memo::fits(raw.size());
        if (const Memo::Slot* slot = fits ? context.memo.find(raw, hash) : nullptr) {
            context.ids.insert(context.ids.end(), slot->ids(), slot->ids() + slot->count);
            if (slot->ending != Ending::NOTHING) ending = slot->ending;
            return true;
        }
        if (!graphemes.normalize(context, raw) || !stands_alone(raw, span_of(context.normal))) return false;
        const size_t first = context.ids.size();
        const Span normal = span_of(context.normal);
        const Ending own = normal.empty() ? Ending::NOTHING : normal.end[-1] == ' ' ? Ending::SPACE : Ending::INK;
        split(normal, [&](Span one) { lattice_.append(context, one); });
        if (fits) context.memo.keep(raw, hash, context.ids.data() + first, context.ids.size() - first, own);
        if (own != Ending::NOTHING) ending = own;
        return true;
    }

    bool stands_alone(Span raw, Span normal) const {
        const Characters& characters = graphemes.characters;
        const uint32_t first = decode(raw.begin, length_of(*raw.begin));
        const Byte* end = before(raw.end);
        const uint32_t last = decode(end, length_of(*end));
        if (characters.find(first).kind == Kind::JOINS || characters.find(last).kind == Kind::PREPENDS) return false;
        for (const Byte* at = normal.begin; at < normal.end; at += length_of(*at)) {
            const uint32_t point = decode(at, length_of(*at));
            if (point == 0x2581 || (point != ' ' && is_space(point))) return false;
        }
        return true;
    }

    // A part of a section between cuts, step by step as the library goes.
    void whole(Context& context, Span text) const {
        if (!context.sure() || !graphemes.normalize(context, text)) return;
        Span normal = span_of(context.normal);
        while (rules_.no_trailing && !normal.empty() && is_space(last_of(normal))) normal.end = before(normal.end);
        if (!rules_.words_only) return marked(context, normal);
        const Byte* begin = normal.begin;
        for (const Byte* at = normal.begin; at < normal.end; at += length_of(*at)) {
            if (!is_space(decode(at, length_of(*at)))) continue;
            marked(context, {begin, at});
            begin = at + length_of(*at);
        }
        marked(context, {begin, normal.end});
    }

    static uint32_t last_of(Span text) {
        const Byte* at = before(text.end);
        return decode(at, length_of(*at));
    }

    // Runs of spaces become one mark each, another one stands in front unless there is one; words begin at marks.
    void marked(Context& context, Span text) const {
        if (text.empty()) return;
        std::string& all = context.marked;
        all.clear();
        for (const Byte* at = text.begin; at < text.end; ++at) {
            if (*at != ' ') all.push_back(static_cast<char>(*at));
            else if (at == text.begin || at[-1] != ' ') append(all, {MARK, MARK + 3});
        }
        if (!begins_with_mark(span_of(all))) all.insert(0, reinterpret_cast<const char*>(MARK), 3);
        const Span line = span_of(all);
        for (const Byte *at = line.begin + 3, *begin = at;; at += length_of(*at)) {
            if (at < line.end && !begins_with_mark({at, line.end})) continue;
            lattice_.append(context, {begin, at});
            if (at == line.end) return;
            begin = at + 3;
        }
    }

    static bool begins_with_mark(Span text) { return text.size() >= 3 && !std::memcmp(text.begin, MARK, 3); }

    Lattice lattice_;
    UnigramRules rules_;
    std::array<bool, 256> separates_{};
};

}  // namespace ivy

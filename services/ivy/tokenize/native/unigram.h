// `Unigram`: the most likely pieces of each word, with the spaces of SentencePiece.
//
// A word is what lies between separators of ASCII. Its ids depend on it alone, unless its first or its last character
// could go on beyond the space, or it has the mark of a space in it: then the whole section is read at once.
#pragma once

#include <array>
#include <limits>
#include <string>

#include "context.h"
#include "graphemes.h"
#include "trie.h"

namespace ivy {

struct UnigramRules {
    int32_t unknown;
    double unknown_score;
    int32_t words_only;  // Spaces of every kind part words, and leave no token.
    int32_t no_trailing;  // Spaces at the end leave no token.
};

class Unigram {
   public:
    Graphemes graphemes;

    Unigram(const Vocabulary& vocabulary, Span charsmap, const UnigramRules& rules)
        : graphemes(charsmap), trie_(vocabulary), rules_(rules), marked_(trie_.walk(Trie::ROOT, {MARK, MARK + 3})) {}

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
        Cut cut{text.begin, context.ids.size()};
        for (const Byte* at = text.begin; at < text.end && context.ids.size() < wanted;) {
            if (separates_[*at]) {
                ending = Ending::SPACE;
                ++at;
                continue;
            }
            const Span raw = next_word({at, text.end});
            at = raw.end;
            if (!word(context, raw, ending)) {
                if (!context.sure()) return;
                context.ids.resize(cut.count);
                at = end_of_trouble(context, {at, text.end});
                whole(context, {cut.at, at});
                if (at == text.end) return;
                ending = Ending::INK;
            }
            if (ending == Ending::INK) cut = {at, context.ids.size()};
        }
        if (ending == Ending::SPACE && context.ids.size() < wanted && leaves_trailing()) pieces(context, {});
    }

   private:
    static constexpr Byte MARK[3] = {0xE2, 0x96, 0x81};  // U+2581 stands for a space.

    // After a word that stands alone and ends in ink: what follows begins with a space, and knows nothing of the word.
    struct Cut {
        const Byte* at;
        size_t count;
    };

    bool leaves_trailing() const { return !rules_.words_only && !rules_.no_trailing; }

    // The word that a text begins with.
    Span next_word(Span text) const {
        const Byte* at = text.begin;
        while (at < text.end && !separates_[*at]) ++at;
        return {text.begin, at};
    }

    // The next cut after a word that does not stand alone, or the end of the text.
    const Byte* end_of_trouble(Context& context, Span text) const {
        const size_t count = context.ids.size();
        for (const Byte* at = text.begin; at < text.end;) {
            const Span raw = next_word({at, text.end});
            at = raw.empty() ? at + 1 : raw.end;
            Ending ending = Ending::NOTHING;
            const bool alone = !raw.empty() && word(context, raw, ending);
            context.ids.resize(count);
            if (!context.sure()) return text.end;
            if (alone && ending == Ending::INK) return at;
        }
        return text.end;
    }

    // False: its ids are not sure, or depend on what is around it.
    bool word(Context& context, Span raw, Ending& ending) const {
        const bool fits = Memo::fits(raw.size());
        const uint64_t hash = fits ? Memo::hash(raw) : 0;
        if (const Memo::Slot* slot = fits ? context.memo.find(raw, hash) : nullptr) {
            context.ids.insert(context.ids.end(), slot->ids(), slot->ids() + slot->count);
            if (slot->ending != Ending::NOTHING) ending = slot->ending;
            return true;
        }
        if (!graphemes.normalize(context, raw) || !stands_alone(raw, span_of(context.normal))) return false;
        const size_t first = context.ids.size();
        const Span normal = span_of(context.normal);
        const Ending own = normal.empty() ? Ending::NOTHING : normal.end[-1] == ' ' ? Ending::SPACE : Ending::INK;
        split(normal, [&](Span one) { pieces(context, one); });
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
            pieces(context, {begin, at});
            if (at == line.end) return;
            begin = at + 3;
        }
    }

    static bool begins_with_mark(Span text) { return text.size() >= 3 && !std::memcmp(text.begin, MARK, 3); }

    // The best pieces of a mark and the text after it.
    void pieces(Context& context, Span text) const {
        const int32_t size = static_cast<int32_t>(text.size()) + 3;
        context.path.assign(static_cast<size_t>(size) + 1, {0.0, -1, -1});
        Best* path = context.path.data();
        spread(path, 0, 3, {marked_, 3}, text);
        for (int32_t at = 3; at < size;) {
            const Byte* begin = text.begin + at - 3;
            const int32_t next = at + length_of(*begin);
            spread(path, at, next, {Trie::ROOT, at}, {begin, text.end});
            at = next;
        }
        back(context, size);
    }

    // How far a piece has been read.
    struct Reader {
        int32_t node;
        int32_t at;
    };

    // Offers all pieces that begin at `from`, the shorter ones first. Where the code point up to `single` is no piece
    // of its own, it is unknown.
    void spread(Best* path, int32_t from, int32_t single, Reader reader, Span rest) const {
        const double before = path[from].score;
        bool known = false;
        for (const Byte* next = rest.begin; reader.node != Trie::NOWHERE; ++reader.at) {
            if (trie_.ends(reader.node) && reader.at > from) {
                offer(path[reader.at], {trie_.score(reader.node) + before, from, reader.node});
                known |= reader.at == single;
            }
            if (next == rest.end) break;
            reader.node = trie_.step(reader.node, *next++);
        }
        if (!known) offer(path[single], {rules_.unknown_score + before, from, -1});
    }

    // Of two equal ones the first stays.
    static void offer(Best& best, const Best& other) {
        if (best.from < 0 || other.score > best.score) best = other;
    }

    // Appends the ids of the best path; what is unknown in a row is one token.
    void back(Context& context, int32_t size) const {
        const auto first = static_cast<std::ptrdiff_t>(context.ids.size());
        bool unknown = false;
        for (int32_t at = size; at > 0; at = context.path[static_cast<size_t>(at)].from) {
            const int32_t node = context.path[static_cast<size_t>(at)].node;
            const int32_t id = node < 0 ? rules_.unknown : trie_.id(node);
            if (id != rules_.unknown || !unknown) context.ids.push_back(id);
            unknown = id == rules_.unknown;
        }
        std::reverse(context.ids.begin() + first, context.ids.end());
    }

    Trie trie_;
    UnigramRules rules_;
    int32_t marked_;
    std::array<bool, 256> separates_{};
};

}  // namespace ivy

// `Graphemes`: a charsmap applied as the library does it, to what a reader takes for one character.
//
// A character of several code points counts as a whole only where it has fewer than six bytes; in longer ones each code
// point stands alone. Unicode joins more than is told here: conjuncts, syllables of Hangul, joined emoji. Each of these
// has six bytes and more, so it only matters whether a short one begins inside it; where it might, nothing is sure.
#pragma once

#include <string>

#include "characters.h"
#include "charsmap.h"
#include "context.h"

namespace ivy {

constexpr size_t SHORT_CHARACTER = 5;

class Graphemes {
   public:
    Characters characters;

    explicit Graphemes(Span charsmap) : charsmap_(charsmap) {}

    // Tells of a block which kinds its code points are of.
    void tell(uint32_t number, const uint8_t* kinds) {
        std::string texts;
        int32_t sizes[BLOCK];
        for (uint32_t place = 0; place < BLOCK; ++place) {
            Byte bytes[4];
            Span found;
            const int length = write_point(number * BLOCK + place, bytes);
            sizes[place] = -1;
            if (!charsmap_.match({bytes, bytes + length}, found)) continue;
            sizes[place] = static_cast<int32_t>(found.size());
            append(texts, found);
        }
        characters.tell(number, kinds, sizes, span_of(texts).begin);
    }

    // Writes what a text becomes into `context.normal`.
    bool normalize(Context& context, Span text) const {
        context.normal.clear();
        Mark previous{}, mark{};
        if (text.begin < text.end && !look(context, text.begin, mark)) return false;
        for (const Byte* at = text.begin; at < text.end;) {
            const Byte* begin = at;
            const Mark first = mark;
            Mark last;
            do {
                last = mark;
                at += length_of(*at);
                if (at < text.end && !look(context, at, mark)) return false;
            } while (at < text.end && joined(last, mark));
            if (!write(context, {begin, at}, first, previous)) return false;
            previous = last;
        }
        return true;
    }

   private:
    struct Mark {
        uint32_t point = 0;
        Character what;
    };

    bool look(Context& context, const Byte* at, Mark& mark) const {
        mark.point = decode(at, length_of(*at));
        if (!characters.knows(mark.point)) {
            context.state = State::MISSING;
            return false;
        }
        mark.what = characters.find(mark.point);
        if (mark.what.kind == Kind::UNSURE) context.state = State::UNSURE;
        return context.sure();
    }

    static bool joined(const Mark& one, const Mark& next) {
        if (one.what.kind == Kind::CONTROL) return one.point == '\r' && next.point == '\n';
        if (next.what.kind == Kind::CONTROL) return false;
        return next.what.kind == Kind::JOINS || one.what.kind == Kind::PREPENDS;
    }

    bool write(Context& context, Span text, const Mark& first, const Mark& previous) const {
        if (text.end == text.begin + length_of(*text.begin)) {
            append(context.normal, characters.text(first.point, first.what, text.begin));
            return true;
        }
        Span found;
        if (text.size() <= SHORT_CHARACTER && charsmap_.match(text, found)) {
            if (may_be_inside(first, previous)) context.state = State::UNSURE;
            append(context.normal, found);
            return context.sure();
        }
        for (const Byte* at = text.begin; at < text.end; at += length_of(*at)) {
            const uint32_t point = decode(at, length_of(*at));
            append(context.normal, characters.text(point, characters.find(point), at));
        }
        return true;
    }

    // Whether a code point might go on with the character before it, by the rules that are not told here. They join
    // consonants of India, Hangul, and pictures: beside two of Latin-1 all are beyond the alphabets of the Near East.
    static bool may_be_inside(const Mark& mark, const Mark& previous) {
        const bool follows = previous.what.kind == Kind::JOINS || previous.point >= 0x1100;
        return follows && (mark.point >= 0x900 || mark.point == 0xA9 || mark.point == 0xAE);
    }

    Charsmap charsmap_;
};

}  // namespace ivy

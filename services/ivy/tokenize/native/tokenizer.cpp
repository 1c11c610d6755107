// The door for ctypes: a machine for each model, a desk for each thread that works with it.

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "added.h"
#include "unigram.h"
#include "wordpiece.h"

namespace ivy {
namespace {

constexpr size_t ALL = ~size_t{0};
constexpr size_t LEAST_TAIL = 1024;
constexpr size_t BYTES_PER_TOKEN = 8;
constexpr size_t GROWTH = 4;
constexpr long UNSURE = -1, MISSING = -2;

struct Machine {
    Added added;
    std::unique_ptr<WordPiece> wordpiece;
    std::unique_ptr<Unigram> unigram;
};

struct Desk {
    const Machine* machine;
    int32_t* room;
    long size;
    Context context;
};

template <class Model>
void read(const Model& model, const Added& added, Context& context, Span text, size_t wanted) {
    for (const Byte* at = text.begin; at < text.end && context.sure() && context.ids.size() < wanted;) {
        const Added::Match match = added.find({at, text.end});
        model.section(context, {at, match.span.begin}, wanted);
        if (match.token) context.ids.push_back(match.token->id);
        at = match.span.end;
    }
}

bool is_letter(Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

// The end of a text from the first place on, among its last `size` bytes, where reading may begin: before a space that
// follows a letter. No character and no added token reaches over it.
template <class Model>
Span tail_of(const Model& model, Span text, size_t size) {
    if (size >= text.size()) return text;
    for (const Byte* at = text.end - size; at < text.end; ++at)
        if (model.separates(*at) && at > text.begin && is_letter(at[-1])) return {at, text.end};
    return text;
}

template <class Model>
void read_end(const Model& model, const Added& added, Context& context, Span text, size_t wanted) {
    for (size_t size = std::max(wanted * BYTES_PER_TOKEN, LEAST_TAIL);; size *= GROWTH) {
        const Span tail = tail_of(model, text, size);
        context.ids.clear();
        read(model, added, context, tail, ALL);
        if (!context.sure() || context.ids.size() >= wanted || tail.begin == text.begin) return;
    }
}

template <class Model>
long encode(const Model& model, const Characters& characters, const Added& added, Context& context, Span text,
            long wanted, bool at_start) {
    const size_t enough = wanted < 0 ? ALL : static_cast<size_t>(wanted);
    context.ids.clear();
    context.state = State::SURE;
    if (at_start || wanted < 0) read(model, added, context, text, enough);
    else read_end(model, added, context, text, enough);
    if (context.state == State::UNSURE) return UNSURE;
    if (context.state == State::SURE) return static_cast<long>(context.ids.size());
    context.missing.clear();
    characters.missing(text, context.missing);
    return MISSING;
}

long encode(const Machine& machine, Context& context, Span text, long wanted, bool at_start) {
    if (machine.wordpiece)
        return encode(*machine.wordpiece, machine.wordpiece->characters, machine.added, context, text, wanted, at_start);
    const Unigram& unigram = *machine.unigram;
    return encode(unigram, unigram.graphemes.characters, machine.added, context, text, wanted, at_start);
}

Added added_of(const Vocabulary& tokens, const uint8_t* strips) {
    std::vector<AddedToken> found;
    for (int32_t place = 0; place < tokens.count; ++place) {
        const Span content = tokens.piece(place);
        found.push_back({std::string(content.begin, content.end), tokens.ids[place], strips[place] != 0});
    }
    return Added(std::move(found));
}

}  // namespace
}  // namespace ivy

extern "C" {

// As `recipe.digest` makes it: whoever calls with other structures than these would be misunderstood in silence.
const char* ivy_sources() { return IVY_SOURCES; }

// Both give null where there are too many pieces.
void* ivy_wordpiece(const ivy::Vocabulary* pieces, const ivy::Vocabulary* added, const uint8_t* strips,
                    const ivy::WordPieceRules* rules) {
    try {
        auto model = std::make_unique<ivy::WordPiece>(*pieces, *rules);
        return new ivy::Machine{ivy::added_of(*added, strips), std::move(model), nullptr};
    } catch (const std::length_error&) {
        return nullptr;
    }
}

void* ivy_unigram(const ivy::Vocabulary* pieces, const ivy::Vocabulary* added, const uint8_t* strips,
                  const ivy::UnigramRules* rules, ivy::Span charsmap) {
    try {
        auto model = std::make_unique<ivy::Unigram>(*pieces, charsmap, *rules);
        return new ivy::Machine{ivy::added_of(*added, strips), nullptr, std::move(model)};
    } catch (const std::length_error&) {
        return nullptr;
    }
}

void ivy_forget(ivy::Machine* machine) { delete machine; }

// `room` takes the ids of a text that has at most `size` of them.
ivy::Desk* ivy_desk(const ivy::Machine* machine, int32_t* room, long size) { return new ivy::Desk{machine, room, size, {}}; }

void ivy_forget_desk(ivy::Desk* desk) { delete desk; }

// Tells what a block of code points becomes; a Unigram finds the texts itself.
void ivy_tell(ivy::Machine* machine, uint32_t block, const uint8_t* kinds, const int32_t* sizes, const uint8_t* texts) {
    if (machine->wordpiece) {
        machine->wordpiece->characters.tell(block, kinds, sizes, texts);
        if (block == 0) machine->wordpiece->know_ascii();
    } else {
        machine->unigram->graphemes.tell(block, kinds);
        if (block == 0) machine->unigram->know_ascii();
    }
}

// How many ids there are then, in the room or, if it is too small, at the desk: all of the text, or at least `wanted` of
// one end of it. UNSURE: the rules do not say. MISSING: blocks must be told first, whose numbers are at the desk.
long ivy_encode(ivy::Desk* desk, const uint8_t* text, long size, long wanted, int at_start) {
    try {
        const ivy::Span span{text, text + size};
        const long count = ivy::encode(*desk->machine, desk->context, span, wanted, at_start != 0);
        if (count > 0 && count <= desk->size)
            std::memcpy(desk->room, desk->context.ids.data(), sizeof(int32_t) * static_cast<size_t>(count));
        desk->context.settle();
        return count;
    } catch (const std::bad_alloc&) {
        return ivy::UNSURE;
    }
}

const int32_t* ivy_ids(const ivy::Desk* desk) { return desk->context.ids.data(); }

long ivy_missing(const ivy::Desk* desk, const int32_t** numbers) {
    *numbers = desk->context.missing.data();
    return static_cast<long>(desk->context.missing.size());
}
}

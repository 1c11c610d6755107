// A batch on its way into the buffers of a step with a graph: what numpy takes forty calls for, each dearer than its
// work. Compiled without any instruction set beyond the base: machines whose kernels are torch's have graphs too.

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace {

// One text, as `Sequence.head` is packed.
struct Head {
    int32_t tokens, unseen, typed, begin, end;
};

// As `survey.py` reads it; behind it for each slot the text that lies there, then for each text where its ids begin.
struct Facts {
    int64_t tokens, longest, highest, unseen, typed;
};

// Host memory of a key, as `padding.Fields` divides it.
struct Sheet {
    int32_t* narrow;  // offsets [slots + 1], seen [slots], bounds [slots, 2]
    int64_t* wide;    // ids [tokens], positions [tokens], types [tokens]
    long tokens, slots;
};

}  // namespace

extern "C" {

// Sorts texts by length, those of one length by how many tokens are unseen, else as they came. Returns 0, or 1 where
// the ids are not as many as the heads say.
int rose_survey(const Head* heads, long count, const uint32_t* ids, long id_count, int64_t* plan) {
    auto& facts = *reinterpret_cast<Facts*>(plan);
    int64_t* order = plan + sizeof(Facts) / sizeof(int64_t);
    int64_t* first = order + count;
    facts = {};
    for (long text = 0; text < count; ++text) {
        order[text] = text;
        first[text] = facts.tokens;
        facts.tokens += heads[text].tokens;
        facts.longest = std::max<int64_t>(facts.longest, heads[text].tokens);
        facts.unseen |= heads[text].unseen;
        facts.typed |= heads[text].typed;
    }
    if (facts.tokens != id_count) return 1;
    std::stable_sort(order, order + count, [heads](int64_t left, int64_t right) {
        const Head &a = heads[left], &b = heads[right];
        return a.tokens != b.tokens ? a.tokens < b.tokens : a.unseen < b.unseen;
    });
    uint32_t highest = 0;
    for (long token = 0; token < id_count; ++token) highest = std::max(highest, ids[token]);
    facts.highest = highest;
    return 0;
}

// The padding law (see `padding`), of texts that were surveyed. `types`: uint8, one a token in the order of the texts,
// or null: all are 0. Returns 0, or 1, with nothing written, where they do not fit.
int rose_lay(const Head* heads, long count, const int32_t* ids, const uint8_t* types, const int64_t* plan,
             const Sheet* sheet, int pooled, int typed) {
    const auto& facts = *reinterpret_cast<const Facts*>(plan);
    const int64_t* order = plan + sizeof(Facts) / sizeof(int64_t);
    const int64_t* first = order + count;
    const long rows = sheet->tokens, slots = sheet->slots, pads = rows - facts.tokens;
    if (pads < 0 || count + (pads > 0) > slots) return 1;
    int32_t *offsets = sheet->narrow, *seen = offsets + slots + 1, *bounds = seen + slots;
    int64_t *id_rows = sheet->wide, *positions = id_rows + rows, *type_rows = positions + rows;
    long at = 0;
    for (long slot = 0; slot < count; ++slot) {
        const Head& head = heads[order[slot]];
        const int32_t* own = ids + first[order[slot]];
        std::copy_n(own, head.tokens, id_rows + at);
        std::iota(positions + at, positions + at + head.tokens, 0);
        if (typed && types)
            std::copy_n(types + first[order[slot]], head.tokens, type_rows + at);
        offsets[slot] = static_cast<int32_t>(at);
        seen[slot] = head.tokens - head.unseen;
        bounds[2 * slot] = pooled ? static_cast<int32_t>(at) + head.begin : 0;
        bounds[2 * slot + 1] = pooled ? static_cast<int32_t>(at) + head.end : 1;
        at += head.tokens;
    }
    std::fill_n(id_rows + at, pads, 0);
    std::fill_n(positions + at, pads, 0);
    if (typed) std::fill_n(types ? type_rows + at : type_rows, types ? pads : rows, 0);
    // One more sequence owns all pads, and behind it there is nothing.
    for (long slot = count; slot < slots; ++slot) {
        offsets[slot] = slot == count ? static_cast<int32_t>(at) : static_cast<int32_t>(rows);
        seen[slot] = slot == count ? static_cast<int32_t>(pads) : 0;
        bounds[2 * slot] = 0;
        bounds[2 * slot + 1] = 1;
    }
    offsets[slots] = static_cast<int32_t>(rows);
    return 0;
}
}

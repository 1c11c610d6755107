// `Added`: tokens that are cut out of a text before anything else is done to it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "text.h"

namespace ivy {

struct AddedToken {
    std::string content;
    int32_t id;
    bool strips;  // White space before it belongs to it.
};

class Added {
   public:
    struct Match {
        Span span;
        const AddedToken* token;  // Null: there is none, and the span is empty at the end of the text.
    };

    explicit Added(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
        for (const AddedToken& token : tokens_) first_[static_cast<Byte>(token.content[0])] = true;
    }

    // The leftmost token in a text, and the longest where several begin there.
    Match find(Span text) const {
        for (const Byte* at = next(text.begin, text.end); at < text.end; at = next(at + 1, text.end))
            if (const AddedToken* token = longest(at, text.end))
                return {widened({at, at + token->content.size()}, *token, text), token};
        return {{text.end, text.end}, nullptr};
    }

   private:
    const Byte* next(const Byte* at, const Byte* end) const {
        while (at < end && !first_[*at]) ++at;
        return at;
    }

    const AddedToken* longest(const Byte* at, const Byte* end) const {
        const AddedToken* found = nullptr;
        for (const AddedToken& token : tokens_) {
            const size_t size = token.content.size();
            if (size > static_cast<size_t>(end - at) || std::memcmp(at, token.content.data(), size)) continue;
            if (!found || size > found->content.size()) found = &token;
        }
        return found;
    }

    static Span widened(Span span, const AddedToken& token, Span text) {
        while (token.strips && span.begin > text.begin) {
            const Byte* one = before(span.begin);
            if (!is_space(decode(one, length_of(*one)))) break;
            span.begin = one;
        }
        return span;
    }

    std::vector<AddedToken> tokens_;
    std::array<bool, 256> first_{};
};

}  // namespace ivy

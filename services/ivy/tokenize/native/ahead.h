// `Ahead`: the words of a text, some of them sooner than they are needed: meanwhile what the memo has of them comes in.
#pragma once

#include "memo.h"
#include "text.h"

namespace ivy {

// A word, or what stands between words.
struct Item {
    Span raw;  // Empty where it is no word.
    uint64_t hash;
    int32_t note;  // What the scanner has to say.
};

// `Scan(at, end, item)` fills in an item but for its hash, and gives where the next one begins.
template <class Scan>
class Ahead {
   public:
    Ahead(Memo& memo, Span text, Scan scan) : memo_(memo), text_(text), scan_(scan) {}

    bool next(Item& item) {
        while (last_ - first_ < FEW && !text_.empty()) {
            Item& one = items_[last_++ % FEW];
            text_.begin = scan_(text_.begin, text_.end, one);
            if (one.raw.empty() || !Memo::fits(one.raw.size())) continue;
            one.hash = Memo::hash(one.raw);
            memo_.prepare(one.hash);
        }
        if (first_ == last_) return false;
        item = items_[first_++ % FEW];
        return true;
    }

   private:
    static constexpr uint32_t FEW = 8;

    Memo& memo_;
    Span text_;
    Scan scan_;
    Item items_[FEW];
    uint32_t first_ = 0, last_ = 0;
};

}  // namespace ivy

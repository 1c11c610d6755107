// `Paged`: an array in large pages, where the system has them. What is read here and there in many megabytes costs less
// then: the processor remembers where few large pages are, and forgets where many small ones were.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace ivy {

template <class T>
struct LargePages {
    using value_type = T;
    static constexpr size_t PAGE = size_t{2} << 20;

    LargePages() = default;
    template <class Other>
    LargePages(const LargePages<Other>&) {}

    T* allocate(size_t count) {
        const size_t size = (count * sizeof(T) + PAGE - 1) / PAGE * PAGE;
        void* found = std::aligned_alloc(PAGE, size);
        if (!found) throw std::bad_alloc();
#ifdef __linux__
        madvise(found, size, MADV_HUGEPAGE);  // Advice: without it the pages are small.
#endif
        return static_cast<T*>(found);
    }
    void deallocate(T* at, size_t) { std::free(at); }
    bool operator==(const LargePages&) const { return true; }
    bool operator!=(const LargePages&) const { return false; }
};

template <class T>
using Paged = std::vector<T, LargePages<T>>;

}  // namespace ivy

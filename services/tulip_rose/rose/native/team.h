// A team of threads that shares out the parts of one job at a time.
//
// Whoever is free claims the next part; the caller works too and waits only for parts that somebody has begun. A member
// that the system has taken off its core therefore delays nothing, which a barrier of all members would. Members look
// for work for a moment after a job, since a step is a row of jobs with microseconds between them, then sleep.

#pragma once

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <thread>
#include <vector>

class Team {
  public:
    using Part = void (*)(const void* job, long part, void* scratch);

    // `threads` counts the caller.
    Team(int threads, long scratch_bytes) : threads_(threads), scratch_(threads), bytes_(scratch_bytes) {
        for (auto& each : scratch_) each.resize(bytes_ + 64);
        for (int index = 1; index < threads; ++index) members_.emplace_back([this, index] { serve(index); });
    }

    ~Team() {
        closing_.store(true);
        wake(INT_MAX);
        for (auto& each : members_) each.join();
    }

    int threads() const { return threads_; }

    // Makes room for a job's scratch; only between jobs.
    void reserve(long bytes) {
        if (bytes <= bytes_) return;
        // Members look at scratch only after they have claimed a part, and there is none to claim now.
        for (auto& each : scratch_) each.resize(bytes + 64);
        bytes_ = bytes;
    }

    // Memory for what the caller makes between jobs; the next call may move it.
    void* room(long bytes) {
        if (bytes + 64 > static_cast<long>(room_.size())) room_ = std::vector<char>(bytes + 64);
        return aligned(room_);
    }

    // Runs `work(job, part, scratch)` for each part from 0 on; returns when all are done.
    void run(Part work, const void* job, long parts, bool alone) {
        if (alone || threads_ == 1 || parts == 1) {
            for (long part = 0; part < parts; ++part) work(job, part, scratch(0));
            return;
        }
        work_.store(work, std::memory_order_relaxed);
        job_.store(job, std::memory_order_relaxed);
        done_.store(0, std::memory_order_relaxed);
        const uint64_t epoch = ++epoch_;
        ticket_.store(epoch << 32 | static_cast<uint64_t>(parts), std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_seq_cst) > 0) wake(static_cast<int>(parts) - 1);
        help(0);
        while (done_.load(std::memory_order_acquire) != parts) _mm_pause();
    }

  private:
    // A moment of looking for work: about 20 microseconds.
    static constexpr int kLooks = 600;

    static void* aligned(std::vector<char>& memory) {
        const auto address = reinterpret_cast<uintptr_t>(memory.data());
        return reinterpret_cast<void*>((address + 63) & ~uintptr_t{63});
    }

    void* scratch(int index) { return aligned(scratch_[index]); }

    // Claims parts until none is left. A ticket is the job's number and how many of its parts nobody has claimed yet; to
    // take one down proves that the job is still the one whose fields were read.
    void help(int index) {
        uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while (ticket & 0xffffffffu) {
            const Part work = work_.load(std::memory_order_relaxed);
            const void* job = job_.load(std::memory_order_relaxed);
            if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
            work(job, static_cast<long>(ticket & 0xffffffffu) - 1, scratch(index));
            done_.fetch_add(1, std::memory_order_release);
            ticket = ticket_.load(std::memory_order_acquire);
        }
    }

    void serve(int index) {
        while (!closing_.load(std::memory_order_relaxed)) {
            help(index);
            if (!found_soon()) sleep();
        }
    }

    bool found_soon() {
        for (int look = 0; look < kLooks; ++look) {
            if (ticket_.load(std::memory_order_relaxed) & 0xffffffffu) return true;
            _mm_pause();
        }
        return false;
    }

    void sleep() {
        const uint32_t seen = wakes_.load(std::memory_order_seq_cst);
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        const bool work = ticket_.load(std::memory_order_seq_cst) & 0xffffffffu;
        if (!work && !closing_.load()) futex(FUTEX_WAIT_PRIVATE, seen);
        sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    }

    void wake(int count) {
        wakes_.fetch_add(1, std::memory_order_seq_cst);
        futex(FUTEX_WAKE_PRIVATE, static_cast<uint32_t>(count));
    }

    void futex(int operation, uint32_t value) {
        syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wakes_), operation, value, nullptr, nullptr, 0);
    }

    const int threads_;
    std::vector<std::vector<char>> scratch_;
    std::vector<char> room_;
    long bytes_;
    alignas(64) std::atomic<uint64_t> ticket_{0};
    alignas(64) std::atomic<long> done_{0};
    std::atomic<Part> work_{nullptr};
    std::atomic<const void*> job_{nullptr};
    alignas(64) std::atomic<uint32_t> wakes_{0};
    std::atomic<int> sleeping_{0};
    std::atomic<bool> closing_{false};
    uint64_t epoch_ = 0;
    std::vector<std::thread> members_;
};

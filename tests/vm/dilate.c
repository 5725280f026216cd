/* Slows the clocks of a program by VMLAB_DILATION: for QEMU, whose guest then has that much less time for the same work.
 * What waits for a time is told it in the slower clock, and waits longer. The guest's TSC is the machine's own and goes on
 * as before: the guest measures its rate by the slower clocks, and finds it that much higher. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S 1000000000LL
/* Seconds since 1970 have passed it, those since the boot have not. */
#define LEAST_REALTIME_NS (NS_PER_S * NS_PER_S)

static long long factor = 1;
/* By the number of the clock: when the program began. */
static long long began_ns[2];

static struct timespec timespec_of(long long ns) {
    return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

static long long ns_of(const struct timespec *at) {
    return at->tv_sec * NS_PER_S + at->tv_nsec;
}

static long long machine_ns(clockid_t clock) {
    static int (*next)(clockid_t, struct timespec *);
    struct timespec at;
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    next(clock, &at);
    return ns_of(&at);
}

__attribute__((constructor)) static void begin(void) {
    const char *given = getenv("VMLAB_DILATION");
    if (given) factor = atoll(given);
    began_ns[CLOCK_REALTIME] = machine_ns(CLOCK_REALTIME);
    began_ns[CLOCK_MONOTONIC] = machine_ns(CLOCK_MONOTONIC);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    long long ns = machine_ns(clock);
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
        ns = began_ns[clock] + (ns - began_ns[clock]) / factor;
    *at = timespec_of(ns);
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *at = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    struct timespec longer;
    if (!next) next = dlsym(RTLD_NEXT, "ppoll");
    if (limit) longer = timespec_of(ns_of(limit) * factor);
    return next(files, count, limit ? &longer : NULL, mask);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    long long ns = ns_of(until);
    clockid_t clock = ns < LEAST_REALTIME_NS ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec later = timespec_of(began_ns[clock] + (ns - began_ns[clock]) * factor);
    if (!next) next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    return next(cond, mutex, &later);
}

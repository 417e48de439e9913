/* liblmdb as the lmdb package ships it, with what wafstate needs beyond lmdb.h: see liblmdb.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "liblmdb.h"

static _Thread_local mdb_size_t wafstate_cap = 0;

static _Thread_local int wafstate_write_failure = 0;

void wafstate_cap_writes(mdb_size_t bytes) {
  wafstate_cap = bytes;
  wafstate_write_failure = 0;
}

int wafstate_cause(int code) {
  return code == EIO && wafstate_write_failure != 0 ? wafstate_write_failure : code;
}

static ssize_t wafstate_pwritev(int fd, const struct iovec *iov, int count, off_t offset) {
  mdb_size_t end = (mdb_size_t)offset;
  ssize_t written;
  int i;
  for (i = 0; i < count; i++) end += iov[i].iov_len;
  if (wafstate_cap != 0 && end > wafstate_cap) {
    wafstate_write_failure = MDB_MAP_FULL;
    return 0;
  }
  do {
    written = pwritev(fd, iov, count, offset);
  } while (written < 0 && errno == EINTR);
  if (written >= 0) return written;
  /* Where it is told of an error, mdb.c prints a text of up to 130 bytes into a heap block of 100. A write that came to nothing is EIO,
   * and the transaction is undone as well. */
  wafstate_write_failure = errno;
  return 0;
}

static _Thread_local unsigned wafstate_patience = 0;

void wafstate_wait_at_most(unsigned milliseconds) { wafstate_patience = milliseconds; }

static mdb_size_t wafstate_milliseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (mdb_size_t)now.tv_sec * 1000 + (mdb_size_t)now.tv_nsec / 1000000;
}

static int wafstate_mutex_lock(pthread_mutex_t *mutex) {
  /* pthread_mutex_timedlock goes by a clock that may be set, so it is asked for a short time only. */
  enum { SLICE_MILLISECONDS = 100 };
  mdb_size_t begin;
  int code;
  if (wafstate_patience == 0) return pthread_mutex_lock(mutex);
  code = pthread_mutex_trylock(mutex);
  if (code != EBUSY) return code;
  begin = wafstate_milliseconds(CLOCK_MONOTONIC);
  do {
    const mdb_size_t until = wafstate_milliseconds(CLOCK_REALTIME) + SLICE_MILLISECONDS;
    const struct timespec slice = {(time_t)(until / 1000), (long)(until % 1000) * 1000000};
    code = pthread_mutex_timedlock(mutex, &slice);
  } while (code == ETIMEDOUT && wafstate_milliseconds(CLOCK_MONOTONIC) - begin < wafstate_patience);
  return code;
}

#define pthread_mutex_lock wafstate_mutex_lock

/* mdb.c destroys the locks in lock.mdb when the last process closes. One that opens at that moment waits for the file to be free, does not
 * make them anew, and would find them unusable (EINVAL). Left alone they serve it, and whoever opens alone makes new ones. */
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)

/* What stands in the place of a file is looked at before; this closes the gap between the look and the open. */
static int wafstate_open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = (mode_t)va_arg(rest, int);
    va_end(rest);
  }
  return open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

/* All data pages are written with one function then, also those that go out before a large transaction ends. */
#define MDB_USE_PWRITEV 1
#define pwritev wafstate_pwritev
#define open wafstate_open
#include "mdb.c"

mdb_size_t wafstate_txn_pages(const MDB_txn *txn) { return txn->mt_next_pgno; }

void wafstate_env_close(MDB_env *env) {
  mdb_midl_free(env->me_pghead);
  env->me_pghead = NULL;
  mdb_env_close(env);
}

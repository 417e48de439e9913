/*
 * LD_PRELOAD library of the kill torture: ends or stops the process at the nth time that it reaches a named step of the
 * write path, in whichever thread. The product knows nothing of it: steps are told by what liblmdb asks of the C
 * library for the files of one environment.
 *
 *     WAFSTATE_TORTURE_DIRECTORY   the environment's directory, without symbolic links
 *     WAFSTATE_TORTURE_STEP        one of the names in `names`
 *     WAFSTATE_TORTURE_NTH         from 1
 *     WAFSTATE_TORTURE_SIGNAL      a signal's number, SIGKILL where it is not set
 *
 * The write lock of an environment is the robust mutex at byte 64 of its lock.mdb, the gate's likewise in gate/lock.mdb.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum step {
  BEFORE_GATE,
  IN_GATE,
  IN_TRANSACTION,
  BEFORE_PAGES,
  BETWEEN_PAGES,
  BEFORE_SYNC,
  BEFORE_META,
  AFTER_META,
  COMMITTED,
  GATE_LEFT,
  STEPS
};
static const char *const names[STEPS] = {"before-gate", "in-gate",     "in-transaction", "before-pages",
                                         "between-pages", "before-sync", "before-meta",    "after-meta",
                                         "committed",   "gate-left"};

enum file { OTHER, DATA, DATA_LOCK, GATE_LOCK };

#define MAX_DESCRIPTORS 65536
#define WRITE_LOCK_OFFSET 64
#define META_PAGES_BYTES 8192

static _Atomic unsigned char files[MAX_DESCRIPTORS];
static _Atomic(char *) data_lock;
static _Atomic(char *) gate_lock;
static char directory[4096];
static enum step wanted = STEPS;
static atomic_long remaining;
static int deadly = SIGKILL;
/* Pages of the transaction at hand have been written. */
static atomic_int flushing;
/* A commit of the records' environment went through, so that leaving the gate ends a write and not an open. */
static atomic_int wrote_meta;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("WAFSTATE_TORTURE_DIRECTORY");
  const char *step = getenv("WAFSTATE_TORTURE_STEP");
  const char *nth = getenv("WAFSTATE_TORTURE_NTH");
  if (path == NULL || step == NULL || nth == NULL || strlen(path) >= sizeof directory) return;
  strcpy(directory, path);
  atomic_store(&remaining, atol(nth));
  if (getenv("WAFSTATE_TORTURE_SIGNAL") != NULL) deadly = atoi(getenv("WAFSTATE_TORTURE_SIGNAL"));
  for (int i = 0; i < STEPS; i++) {
    if (strcmp(names[i], step) == 0) wanted = (enum step)i;
  }
}

static void reach(enum step step) {
  if (step != wanted || atomic_fetch_sub(&remaining, 1) != 1) return;
  kill(getpid(), deadly);
}

static enum file file_of(int descriptor) {
  return descriptor >= 0 && descriptor < MAX_DESCRIPTORS ? (enum file)atomic_load(&files[descriptor]) : OTHER;
}

static void opened(int descriptor, const char *path) {
  if (descriptor < 0 || descriptor >= MAX_DESCRIPTORS) return;
  const size_t length = strlen(directory);
  enum file file = OTHER;
  if (length > 0 && strncmp(path, directory, length) == 0) {
    const char *rest = path + length;
    if (strcmp(rest, "/data.mdb") == 0) file = DATA;
    if (strcmp(rest, "/lock.mdb") == 0) file = DATA_LOCK;
    if (strcmp(rest, "/gate/lock.mdb") == 0) file = GATE_LOCK;
  }
  atomic_store(&files[descriptor], (unsigned char)file);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = REAL(open64)(path, flags, mode_of(flags, arguments));
  va_end(arguments);
  opened(descriptor, path);
  return descriptor;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = REAL(open)(path, flags, mode_of(flags, arguments));
  va_end(arguments);
  opened(descriptor, path);
  return descriptor;
}

static void mapped(int descriptor, void *address) {
  const enum file file = file_of(descriptor);
  if (address == MAP_FAILED) return;
  if (file == DATA_LOCK) atomic_store(&data_lock, (char *)address + WRITE_LOCK_OFFSET);
  if (file == GATE_LOCK) atomic_store(&gate_lock, (char *)address + WRITE_LOCK_OFFSET);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  void *const got = REAL(mmap64)(address, length, protection, flags, descriptor, offset);
  mapped(descriptor, got);
  return got;
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  void *const got = REAL(mmap)(address, length, protection, flags, descriptor, offset);
  mapped(descriptor, got);
  return got;
}

static int locked(pthread_mutex_t *mutex, int code) {
  if (code != 0 && code != EOWNERDEAD) return code;
  if ((char *)mutex == atomic_load(&gate_lock)) reach(IN_GATE);
  if ((char *)mutex == atomic_load(&data_lock)) {
    atomic_store(&flushing, 0);
    reach(IN_TRANSACTION);
  }
  return code;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*lock)(pthread_mutex_t *);
  if (lock == NULL) lock = REAL(pthread_mutex_lock);
  if ((char *)mutex == atomic_load(&gate_lock)) reach(BEFORE_GATE);
  return locked(mutex, lock(mutex));
}

/* The addon tries first, then waits with an end. */
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  static int (*lock)(pthread_mutex_t *);
  if (lock == NULL) lock = REAL(pthread_mutex_trylock);
  if ((char *)mutex == atomic_load(&gate_lock)) reach(BEFORE_GATE);
  return locked(mutex, lock(mutex));
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
  static int (*lock)(pthread_mutex_t *, const struct timespec *);
  if (lock == NULL) lock = REAL(pthread_mutex_timedlock);
  return locked(mutex, lock(mutex, until));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  static int (*unlock)(pthread_mutex_t *);
  if (unlock == NULL) unlock = REAL(pthread_mutex_unlock);
  const int ends_write = (char *)mutex == atomic_load(&data_lock) && atomic_load(&wrote_meta) != 0;
  const int leaves_gate = (char *)mutex == atomic_load(&gate_lock) && atomic_load(&wrote_meta) != 0;
  if (ends_write) reach(COMMITTED);
  const int code = unlock(mutex);
  if (leaves_gate) {
    atomic_store(&wrote_meta, 0);
    reach(GATE_LEFT);
  }
  return code;
}

/* A write to the data file: of the meta page at the end of a commit, or of the pages before it. */
static int before_write(int descriptor, off64_t offset) {
  if (file_of(descriptor) != DATA) return 0;
  if (offset < META_PAGES_BYTES) {
    reach(BEFORE_META);
  } else if (atomic_exchange(&flushing, 1) == 0) {
    reach(BEFORE_PAGES);
  }
  return 1;
}

static ssize_t after_write(int ours, off64_t offset, ssize_t written) {
  const int error = errno;
  if (ours && offset < META_PAGES_BYTES) {
    atomic_store(&wrote_meta, 1);
    reach(AFTER_META);
  } else if (ours) {
    reach(BETWEEN_PAGES);
  }
  errno = error;
  return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  const int ours = before_write(descriptor, offset);
  return after_write(ours, offset, REAL(pwrite64)(descriptor, bytes, length, offset));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  const int ours = before_write(descriptor, offset);
  return after_write(ours, offset, REAL(pwritev64)(descriptor, parts, count, offset));
}

/* The lmdb package seeks and writes where a run of pages has several parts. */
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  const off64_t offset = file_of(descriptor) == DATA ? lseek64(descriptor, 0, SEEK_CUR) : 0;
  const int ours = before_write(descriptor, offset);
  return after_write(ours, offset, REAL(writev)(descriptor, parts, count));
}

int fdatasync(int descriptor) {
  if (file_of(descriptor) == DATA) reach(BEFORE_SYNC);
  return REAL(fdatasync)(descriptor);
}

/*
 * LD_PRELOAD library of the power-cut test: logs every write to and sync of the data files of one environment, with contents, and
 * the lines of the journals beside it, in the order in which they were begun.
 *
 *     WAFSTATE_RECORD_LOG        the file that is appended to, by all processes alike
 *     WAFSTATE_RECORD_DIRECTORY  the environment's directory, without symbolic links
 *     WAFSTATE_RECORD_JOURNALS   the directory of the journals
 *
 * An entry, in the machine's order: u32 kind, u32 file (1 data.mdb, 2 gate/data.mdb, 0 a journal), u64 number, u64 offset, u64 length,
 * then for kinds 1 and 6 so many bytes.
 *
 *     1  a write begins                   4  that sync has ended
 *     2  that write is on disk (O_DSYNC)  5  the file is cut or extended to `offset`
 *     3  a sync begins                    6  a journal's line
 *                                         7  the file is mapped for writing: then this log is not the whole truth
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, WRITTEN, SYNC, SYNCED, RESIZE, LINE, MAPPED };
enum { JOURNAL_FILE = 0, DATA_FILE = 1, GATE_FILE = 2, OTHER_FILE = 3 };
enum { MAX_DESCRIPTORS = 65536, SYNCHRONOUS = 0x10, MAX_PARTS = 64 };

struct entry {
  uint32_t kind;
  uint32_t file;
  uint64_t number;
  uint64_t offset;
  uint64_t length;
};

static _Atomic unsigned char files[MAX_DESCRIPTORS];
static atomic_uint_fast64_t numbers;
static int log_descriptor = -1;
static const char *directory;
static const char *journals;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < MAX_DESCRIPTORS; i++) files[i] = OTHER_FILE;
  directory = getenv("WAFSTATE_RECORD_DIRECTORY");
  journals = getenv("WAFSTATE_RECORD_JOURNALS");
  const char *log = getenv("WAFSTATE_RECORD_LOG");
  if (directory == NULL || journals == NULL || log == NULL) abort();
  log_descriptor = REAL(open64)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (log_descriptor < 0) abort();
  atomic_store(&numbers, (uint64_t)getpid() << 32);
}

/* One write(2) for the whole entry, so that those of several threads and processes do not mix. */
static uint64_t note(enum kind kind, int file, uint64_t number, uint64_t offset, const struct iovec *parts, int count) {
  struct iovec whole[MAX_PARTS + 1];
  struct entry entry = {kind, (uint32_t)file, number, offset, 0};
  if (count > MAX_PARTS) abort();
  for (int i = 0; i < count; i++) {
    whole[i + 1] = parts[i];
    entry.length += parts[i].iov_len;
  }
  if (number == 0) entry.number = atomic_fetch_add(&numbers, 1) + 1;
  whole[0] = (struct iovec){&entry, sizeof entry};
  const ssize_t size = (ssize_t)(sizeof entry + entry.length);
  if (REAL(writev)(log_descriptor, whole, count + 1) != size) abort();
  return entry.number;
}

static int file_of(int descriptor) {
  if (descriptor < 0 || descriptor >= MAX_DESCRIPTORS) return OTHER_FILE;
  return atomic_load(&files[descriptor]) & 0x0f;
}

static int is_data(int descriptor) {
  const int file = file_of(descriptor);
  return file == DATA_FILE || file == GATE_FILE;
}

static void opened(int descriptor, const char *path, int flags) {
  if (descriptor < 0 || descriptor >= MAX_DESCRIPTORS) return;
  unsigned char file = OTHER_FILE;
  if (strncmp(path, directory, strlen(directory)) == 0) {
    const char *rest = path + strlen(directory);
    if (strcmp(rest, "/data.mdb") == 0) file = DATA_FILE;
    if (strcmp(rest, "/gate/data.mdb") == 0) file = GATE_FILE;
  } else if (strncmp(path, journals, strlen(journals)) == 0) {
    file = JOURNAL_FILE;
  }
  if ((flags & O_DSYNC) != 0) file |= SYNCHRONOUS;
  atomic_store(&files[descriptor], file);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = REAL(open64)(path, flags, mode_of(flags, arguments));
  va_end(arguments);
  opened(descriptor, path, flags);
  return descriptor;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = REAL(open)(path, flags, mode_of(flags, arguments));
  va_end(arguments);
  opened(descriptor, path, flags);
  return descriptor;
}

static uint64_t before(int descriptor, uint64_t offset, const struct iovec *parts, int count) {
  return is_data(descriptor) ? note(WRITE, file_of(descriptor), 0, offset, parts, count) : 0;
}

static ssize_t after(int descriptor, uint64_t number, ssize_t written) {
  const int error = errno;
  if (number != 0 && written >= 0 && (atomic_load(&files[descriptor]) & SYNCHRONOUS) != 0) {
    note(WRITTEN, file_of(descriptor), number, 0, NULL, 0);
  }
  errno = error;
  return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  const struct iovec part = {(void *)bytes, length};
  const uint64_t number = before(descriptor, (uint64_t)offset, &part, 1);
  return after(descriptor, number, REAL(pwrite64)(descriptor, bytes, length, offset));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  const uint64_t number = before(descriptor, (uint64_t)offset, parts, count);
  return after(descriptor, number, REAL(pwritev64)(descriptor, parts, count, offset));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  const uint64_t offset = is_data(descriptor) ? (uint64_t)lseek64(descriptor, 0, SEEK_CUR) : 0;
  const uint64_t number = before(descriptor, offset, parts, count);
  return after(descriptor, number, REAL(writev)(descriptor, parts, count));
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  const struct iovec part = {(void *)bytes, length};
  if (file_of(descriptor) == JOURNAL_FILE) note(LINE, JOURNAL_FILE, 0, 0, &part, 1);
  const uint64_t offset = is_data(descriptor) ? (uint64_t)lseek64(descriptor, 0, SEEK_CUR) : 0;
  const uint64_t number = before(descriptor, offset, &part, 1);
  return after(descriptor, number, REAL(write)(descriptor, bytes, length));
}

int ftruncate64(int descriptor, off64_t length) {
  if (is_data(descriptor)) note(RESIZE, file_of(descriptor), 0, (uint64_t)length, NULL, 0);
  return REAL(ftruncate64)(descriptor, length);
}

static int synced(int descriptor, uint64_t number, int code) {
  const int error = errno;
  if (number != 0 && code == 0) note(SYNCED, file_of(descriptor), number, 0, NULL, 0);
  errno = error;
  return code;
}

int fdatasync(int descriptor) {
  const uint64_t number = is_data(descriptor) ? note(SYNC, file_of(descriptor), 0, 0, NULL, 0) : 0;
  return synced(descriptor, number, REAL(fdatasync)(descriptor));
}

int fsync(int descriptor) {
  const uint64_t number = is_data(descriptor) ? note(SYNC, file_of(descriptor), 0, 0, NULL, 0) : 0;
  return synced(descriptor, number, REAL(fsync)(descriptor));
}

static void mapped(int descriptor, int protection, int flags) {
  const int shared_writing = (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0;
  if (shared_writing && is_data(descriptor)) note(MAPPED, file_of(descriptor), 0, 0, NULL, 0);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  mapped(descriptor, protection, flags);
  return REAL(mmap64)(address, length, protection, flags, descriptor, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  mapped(descriptor, protection, flags);
  return REAL(mmap)(address, length, protection, flags, descriptor, offset);
}

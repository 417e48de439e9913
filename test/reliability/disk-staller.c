/*
 * LD_PRELOAD library that stalls a disk: while a file exists, whoever writes to the data file of one environment or syncs it waits.
 *
 *     WAFSTATE_STALL_DATA   the path of data.mdb
 *     WAFSTATE_STALL_WHILE  the file that stalls it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOOK_AGAIN_MICROSECONDS 1000

static void wait_for_disk(int descriptor) {
  const char *stall = getenv("WAFSTATE_STALL_WHILE");
  const char *path = getenv("WAFSTATE_STALL_DATA");
  const int error = errno;
  struct stat ours, data;
  if (stall != NULL && path != NULL && access(stall, F_OK) == 0 && fstat(descriptor, &ours) == 0 &&
      stat(path, &data) == 0 && ours.st_dev == data.st_dev && ours.st_ino == data.st_ino) {
    while (access(stall, F_OK) == 0) usleep(LOOK_AGAIN_MICROSECONDS);
  }
  errno = error;
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  wait_for_disk(descriptor);
  return REAL(pwrite64)(descriptor, bytes, length, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  wait_for_disk(descriptor);
  return REAL(pwritev64)(descriptor, parts, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  wait_for_disk(descriptor);
  return REAL(writev)(descriptor, parts, count);
}

int fdatasync(int descriptor) {
  wait_for_disk(descriptor);
  return REAL(fdatasync)(descriptor);
}

/* Counts what a process does to files below a folder, and at one of these operations kills it or fills its disk.

   Preloaded into a driver, which forks a child for each case; the child arms itself. A killed write has written half. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, KILL, FILL };
#define MOST 100000

static char root[PATH_MAX], filler[PATH_MAX], kinds[MOST];
static long at, count;
static int action;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

void faults_arm(const char *below, const char *fills, long number, int what) {
  snprintf(root, sizeof root, "%s/", below);
  snprintf(filler, sizeof filler, "%s", fills);
  at = number, action = what, count = 0;
}

/* What it has done so far: w, s, r, u, m, t for write, sync, rename, unlink, mkdir, truncate and allocate. */
const char *faults_done(void) {
  kinds[count < MOST ? count : MOST - 1] = 0;
  return kinds;
}

static void fill(void) {
  char block[4096] = {0};
  int file = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  while (REAL(write)(file, block, sizeof block) > 0);
  close(file);
}

/* True if the process must be killed now. */
static int due(char kind) {
  long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (number < MOST) kinds[number - 1] = kind;
  if (number != at) return 0;
  if (action == FILL) fill();
  return action == KILL;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_below(const char *path) {
  char whole[PATH_MAX];
  if (!*root || !path) return 0;
  if (*path != '/') {
    if (!getcwd(whole, sizeof whole)) return 0;
    strncat(whole, "/", sizeof whole - strlen(whole) - 1);
    strncat(whole, path, sizeof whole - strlen(whole) - 1);
    path = whole;
  }
  return !strncmp(path, root, strlen(root));
}

static int is_ours(int file) {
  char link[64], path[PATH_MAX];
  if (!*root) return 0;
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

ssize_t write(int file, const void *data, size_t size) {
  if (is_ours(file) && due('w')) REAL(write)(file, data, size / 2), die();
  return REAL(write)(file, data, size);
}

size_t fwrite(const void *data, size_t size, size_t many, FILE *stream) {
  if (is_ours(fileno(stream)) && due('w')) REAL(fwrite)(data, size, many / 2, stream), fflush(stream), die();
  return REAL(fwrite)(data, size, many, stream);
}

#define AROUND(result, name, kind, whether, parameters, arguments) \
  result name parameters {                                         \
    if (whether && due(kind)) die();                               \
    return REAL(name) arguments;                                   \
  }

AROUND(ssize_t, pwrite64, 'w', is_ours(file), (int file, const void *data, size_t size, off64_t where),
       (file, data, size, where))
AROUND(int, fsync, 's', is_ours(file), (int file), (file))
AROUND(int, rename, 'r', is_below(to), (const char *from, const char *to), (from, to))
AROUND(int, renameat, 'r', is_below(to), (int a, const char *from, int b, const char *to), (a, from, b, to))
AROUND(int, unlink, 'u', is_below(path), (const char *path), (path))
AROUND(int, mkdir, 'm', is_below(path), (const char *path, mode_t mode), (path, mode))
AROUND(int, ftruncate64, 't', is_ours(file), (int file, off64_t size), (file, size))
AROUND(int, posix_fallocate64, 't', is_ours(file), (int file, off64_t from, off64_t size), (file, from, size))

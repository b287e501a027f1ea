/* Counts what a process does to files below a folder, and at one of these operations kills it or fills its disk.

   Preloaded into a driver, which forks a child for each case; the child arms itself. A killed write has written half.
   With a folder for a journal, each operation has a line there, and what is synced or renamed is copied there.

   With LATE_BELOW it is a network file system instead: to the process that this is preloaded into, a new file is there
   LATE_SECONDS after it was written. What the process starts has it at once, as on the machine that wrote the file. */
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
#include <time.h>
#include <unistd.h>

enum { NOTHING, KILL, FILL };
#define MOST 100000

static char root[PATH_MAX], filler[PATH_MAX], journal[PATH_MAX], kinds[MOST];
/* The file of the operation, and its name before. */
static char seen[PATH_MAX], before[PATH_MAX];
static long at, count;
static int action;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

void faults_arm(const char *below, const char *fills, const char *notes, long number, int what) {
  snprintf(root, sizeof root, "%s/", below);
  snprintf(filler, sizeof filler, "%s", fills);
  snprintf(journal, sizeof journal, "%s", notes);
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

static void note(char kind, long number) {
  char place[PATH_MAX + 32], block[65536];
  struct stat about;
  if (kind == 's' && !stat(seen, &about) && S_ISDIR(about.st_mode)) kind = 'd';
  snprintf(place, sizeof place, "%s/lines", journal);
  FILE *lines = fopen(place, "a");
  fprintf(lines, "%c\t%s\t%s\n", kind, seen, kind == 'r' ? before : "");
  fclose(lines);
  int from = kind == 's' ? open(seen, O_RDONLY) : kind == 'r' ? open(before, O_RDONLY) : -1;
  if (from < 0) return;
  snprintf(place, sizeof place, "%s/%ld", journal, number);
  int to = open(place, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (ssize_t size; (size = read(from, block, sizeof block)) > 0;) REAL(write)(to, block, size);
  close(from), close(to);
}

/* True if the process must be killed now. */
static int due(char kind) {
  long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (number < MOST) kinds[number - 1] = kind;
  if (*journal) note(kind, number);
  if (number != at) return 0;
  if (action == FILL) fill();
  return action == KILL;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_below(const char *path) {
  if (!*root || !path) return 0;
  *seen = 0;
  if (*path != '/') {
    if (!getcwd(seen, sizeof seen)) return 0;
    strncat(seen, "/", sizeof seen - strlen(seen) - 1);
  }
  strncat(seen, path, sizeof seen - strlen(seen) - 1);
  return !strncmp(seen, root, strlen(root));
}

static int is_moved_below(const char *from, const char *to) {
  is_below(from);
  memcpy(before, seen, sizeof before);
  return is_below(to);
}

static int is_ours(int file) {
  char link[64], path[PATH_MAX];
  if (!*root) return 0;
  int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = error;
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
AROUND(int, rename, 'r', is_moved_below(from, to), (const char *from, const char *to), (from, to))
AROUND(int, renameat, 'r', is_moved_below(from, to), (int a, const char *from, int b, const char *to), (a, from, b, to))
AROUND(int, unlink, 'u', is_below(path), (const char *path), (path))
AROUND(int, mkdir, 'm', is_below(path), (const char *path, mode_t mode), (path, mode))
AROUND(int, ftruncate64, 't', is_ours(file), (int file, off64_t size), (file, size))
AROUND(int, posix_fallocate64, 't', is_ours(file), (int file, off64_t from, off64_t size), (file, from, size))

static const char *late_below;

__attribute__((constructor)) static void begin(void) {
  late_below = getenv("LATE_BELOW");
  if (late_below) unsetenv("LD_PRELOAD");
}

static int late(const char *path, struct stat *about, int result) {
  if (!late_below || result || !S_ISREG(about->st_mode) || !strstr(path, late_below)) return result;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  double age = (now.tv_sec - about->st_ctim.tv_sec) + (now.tv_nsec - about->st_ctim.tv_nsec) / 1e9;
  if (age >= atof(getenv("LATE_SECONDS"))) return 0;
  errno = ENOENT;
  return -1;
}

#define LATE(name, parameters, arguments) \
  int name parameters { return late(path, (struct stat *)about, REAL(name) arguments); }

LATE(stat, (const char *path, struct stat *about), (path, about))
LATE(lstat, (const char *path, struct stat *about), (path, about))
LATE(stat64, (const char *path, struct stat64 *about), (path, about))
LATE(lstat64, (const char *path, struct stat64 *about), (path, about))
LATE(fstatat, (int folder, const char *path, struct stat *about, int flags), (folder, path, about, flags))
LATE(fstatat64, (int folder, const char *path, struct stat64 *about, int flags), (folder, path, about, flags))

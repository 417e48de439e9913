/*
 * What LMDB itself can do with the work of wafstate's commits: a plain C program over the same liblmdb with the same records.
 *
 *   limit DIRECTORY KEYS BATCH durable|relaxed SECONDS put|tuned
 *
 * Every commit adds 1 to the counter of one of KEYS records, drawn at random. A transaction holds BATCH commits: each key
 * of it is read once, patched for each of its commits, put once; then commit, and in a durable environment the sync within
 * it. The records are wafstate's (docs/format.md): revision, time, update count, counter and checksum are brought up to date,
 * so that what is left in the file is what wafstate would have left.
 *
 * "put" does it as said, in the order of arrival. "tuned" sorts the keys of a batch and writes through the cursor that read:
 * the fastest way that we know.
 *
 * Prints one JSON object. Status 1 and a message on standard error where anything fails.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lmdb.h"

enum {
  HEADER_BYTES = 40,
  VARIABLE_HEADER_BYTES = 3,
  CHECKSUM_BYTES = 4,
  KEY_MOST = 24,
  RECORD_MOST = 128,
  FILL_BATCH = 10000,
  SAMPLES_MOST = 1 << 20
};

static const char NAME[] = "requests";
enum { NAME_BYTES = sizeof NAME - 1 };

struct key {
  uint8_t bytes[KEY_MOST]; /* space, length of the application id (0), key */
  size_t length;
  size_t rank;  /* place in byte order */
  size_t batch; /* the last batch that read it, counted from 1 */
  size_t slot;  /* where that batch holds its record */
};

struct slot {
  struct key *key;
  size_t length;
  uint8_t record[RECORD_MOST];
};

static void fail(const char *step, int code) {
  fprintf(stderr, "limit: %s: %s\n", step, mdb_strerror(code));
  exit(1);
}

static void check(const char *step, int code) {
  if (code != MDB_SUCCESS) fail(step, code);
}

static double seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t nanoseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void store16(uint8_t *at, uint64_t value) { memcpy(at, &(uint16_t){(uint16_t)value}, 2); }
static void store32(uint8_t *at, uint64_t value) { memcpy(at, &(uint32_t){(uint32_t)value}, 4); }
static void store64(uint8_t *at, uint64_t value) { memcpy(at, &value, 8); }
static void store48(uint8_t *at, uint64_t value) { memcpy(at, &value, 6); }

static uint32_t load32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}

static uint64_t load64(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, 8);
  return value;
}

static uint64_t load48(const uint8_t *at) {
  uint64_t value = 0;
  memcpy(&value, at, 6);
  return value;
}

static uint32_t rotate(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

/* Collet's xxHash, 32 bits, seed 0: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */
static uint32_t xxh32(const uint8_t *at, size_t length) {
  const uint32_t p1 = 2654435761u, p2 = 2246822519u, p3 = 3266489917u, p4 = 668265263u, p5 = 374761393u;
  const uint8_t *end = at + length;
  uint32_t hash = p5;
  if (length >= 16) {
    uint32_t lane[4] = {p1 + p2, p2, 0, 0u - p1};
    for (; end - at >= 16; at += 16) {
      for (int i = 0; i < 4; i++) lane[i] = rotate(lane[i] + load32(at + 4 * i) * p2, 13) * p1;
    }
    hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
  }
  hash += (uint32_t)length;
  for (; end - at >= 4; at += 4) hash = rotate(hash + load32(at) * p3, 17) * p4;
  for (; at < end; at++) hash = rotate(hash + *at * p5, 11) * p1;
  hash = (hash ^ hash >> 15) * p2;
  hash = (hash ^ hash >> 13) * p3;
  return hash ^ hash >> 16;
}

static void seal(struct slot *slot) {
  const size_t body = slot->length - CHECKSUM_BYTES;
  store32(slot->record + body, xxh32(slot->record, body));
}

static void new_record(struct slot *slot, uint64_t revision, uint64_t now) {
  const size_t key_length = slot->key->length - 2;
  uint8_t *record = slot->record;
  memset(record, 0, RECORD_MOST);
  memcpy(record, "WR", 2);
  record[2] = 1; /* schema version */
  record[4] = slot->key->bytes[0];
  store16(record + 6, key_length);
  store64(record + 8, revision);
  store64(record + 16, now);
  store64(record + 24, now);
  store48(record + 32, 1);
  store16(record + 38, 1);
  uint8_t *at = record + HEADER_BYTES;
  memcpy(at, slot->key->bytes + 2, key_length);
  at += key_length;
  store16(at, NAME_BYTES);
  at[2] = 1; /* an integer, its clock the record's creation */
  memcpy(at + VARIABLE_HEADER_BYTES, NAME, NAME_BYTES);
  at += VARIABLE_HEADER_BYTES + NAME_BYTES + 8;
  slot->length = (size_t)(at - record) + CHECKSUM_BYTES;
}

static void add_one(struct slot *slot, uint64_t revision, uint64_t now) {
  uint8_t *record = slot->record;
  uint8_t *counter = record + slot->length - CHECKSUM_BYTES - 8;
  store64(record + 8, revision);
  store64(record + 24, now);
  store48(record + 32, load48(record + 32) + 1);
  store64(counter, load64(counter) + 1);
}

static int by_bytes(const void *left, const void *right) {
  const struct key *a = *(struct key *const *)left, *b = *(struct key *const *)right;
  const int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_rank(const void *left, const void *right) {
  const struct key *a = *(struct key *const *)left, *b = *(struct key *const *)right;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) fail("allocate", ENOMEM);
  return memory;
}

/* 10.0.0.0 and on, as `address` of bench/load/keys.ts. */
static struct key *make_keys(size_t count) {
  struct key *keys = allocate(count, sizeof *keys);
  struct key **sorted = allocate(count, sizeof *sorted);
  for (size_t i = 0; i < count; i++) {
    const uint32_t address = 0x0a000000u + (uint32_t)i;
    keys[i].bytes[0] = 1;
    keys[i].length = 2 + (size_t)snprintf((char *)keys[i].bytes + 2, KEY_MOST - 2, "%u.%u.%u.%u", address >> 24,
                                          address >> 16 & 255, address >> 8 & 255, address & 255);
    sorted[i] = &keys[i];
  }
  qsort(sorted, count, sizeof *sorted, by_bytes);
  for (size_t i = 0; i < count; i++) sorted[i]->rank = i;
  free(sorted);
  return keys;
}

static uint32_t next_random(void) {
  static uint32_t state = 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

struct store {
  MDB_env *env;
  MDB_dbi records;
  uint64_t revision;
};

static void put(MDB_txn *txn, const struct store *store, struct slot *slot) {
  MDB_val key = {slot->key->length, slot->key->bytes};
  MDB_val value = {slot->length, slot->record};
  check("put", mdb_put(txn, store->records, &key, &value, 0));
}

static void fill(struct store *store, struct key *keys, size_t count) {
  for (size_t from = 0; from < count; from += FILL_BATCH) {
    MDB_txn *txn;
    check("begin", mdb_txn_begin(store->env, NULL, 0, &txn));
    for (size_t i = from; i < count && i < from + FILL_BATCH; i++) {
      struct slot slot = {.key = &keys[i]};
      new_record(&slot, ++store->revision, nanoseconds_now());
      seal(&slot);
      put(txn, store, &slot);
    }
    check("commit", mdb_txn_commit(txn));
  }
}

static void read_into(struct slot *slot, const MDB_val *value) {
  if (value->mv_size > RECORD_MOST) fail("read", MDB_BAD_VALSIZE);
  slot->length = value->mv_size;
  memcpy(slot->record, value->mv_data, value->mv_size);
}

/* The slot of a key in this batch; read from LMDB where it is the key's first commit in it. */
static struct slot *slot_of(struct key *key, size_t batch, struct slot *slots, size_t *used, int *first) {
  *first = key->batch != batch;
  if (*first) {
    key->batch = batch;
    key->slot = (*used)++;
    slots[key->slot].key = key;
  }
  return &slots[key->slot];
}

static void batch_put(struct store *store, struct key **drawn, size_t commits, size_t batch, struct slot *slots) {
  const uint64_t now = nanoseconds_now();
  size_t used = 0;
  MDB_txn *txn;
  check("begin", mdb_txn_begin(store->env, NULL, 0, &txn));
  for (size_t i = 0; i < commits; i++) {
    int first;
    struct slot *slot = slot_of(drawn[i], batch, slots, &used, &first);
    if (first) {
      MDB_val key = {slot->key->length, slot->key->bytes}, value;
      check("get", mdb_get(txn, store->records, &key, &value));
      read_into(slot, &value);
    }
    add_one(slot, ++store->revision, now);
  }
  for (size_t i = 0; i < used; i++) {
    seal(&slots[i]);
    put(txn, store, &slots[i]);
  }
  check("commit", mdb_txn_commit(txn));
}

static void batch_tuned(struct store *store, struct key **drawn, size_t commits, struct slot *slots) {
  const uint64_t now = nanoseconds_now();
  MDB_txn *txn;
  MDB_cursor *cursor;
  qsort(drawn, commits, sizeof *drawn, by_rank);
  check("begin", mdb_txn_begin(store->env, NULL, 0, &txn));
  check("open a cursor", mdb_cursor_open(txn, store->records, &cursor));
  for (size_t i = 0; i < commits;) {
    struct slot *slot = &slots[0];
    slot->key = drawn[i];
    MDB_val key = {slot->key->length, slot->key->bytes}, value;
    check("get", mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY));
    read_into(slot, &value);
    for (; i < commits && drawn[i] == slot->key; i++) add_one(slot, ++store->revision, now);
    seal(slot);
    value = (MDB_val){slot->length, slot->record};
    check("put", mdb_cursor_put(cursor, &key, &value, MDB_CURRENT));
  }
  mdb_cursor_close(cursor);
  check("commit", mdb_txn_commit(txn));
}

int main(int count, char **arguments) {
  if (count != 7) {
    fprintf(stderr, "usage: limit DIRECTORY KEYS BATCH durable|relaxed SECONDS put|tuned\n");
    return 1;
  }
  const size_t keys_count = strtoull(arguments[2], NULL, 10);
  const size_t commits = strtoull(arguments[3], NULL, 10);
  const int relaxed = strcmp(arguments[4], "relaxed") == 0;
  const double duration = strtod(arguments[5], NULL);
  const int tuned = strcmp(arguments[6], "tuned") == 0;
  if (keys_count == 0 || keys_count > 1u << 24 || commits == 0 || commits > 1u << 20) fail("arguments", EINVAL);

  struct store store = {0};
  check("create", mdb_env_create(&store.env));
  check("map size", mdb_env_set_mapsize(store.env, (size_t)1 << 33));
  const unsigned flags = relaxed ? MDB_NOSYNC : 0;
  check("open", mdb_env_open(store.env, arguments[1], flags, 0600));
  MDB_txn *txn;
  check("begin", mdb_txn_begin(store.env, NULL, 0, &txn));
  check("open the database", mdb_dbi_open(txn, NULL, 0, &store.records));
  MDB_stat stat;
  check("stat", mdb_stat(txn, store.records, &stat));
  /* Nothing was written: the unnamed database needs no creation, and this LMDB refuses to commit nothing. */
  mdb_txn_abort(txn);

  struct key *keys = make_keys(keys_count);
  store.revision = nanoseconds_now() / 1000;
  if (stat.ms_entries != keys_count) fill(&store, keys, keys_count);

  struct key **drawn = allocate(commits, sizeof *drawn);
  struct slot *slots = allocate(commits, sizeof *slots);
  double *samples = allocate(SAMPLES_MOST, sizeof *samples);
  size_t batches = 0;
  const double start = seconds_now();
  double end = start;
  do {
    for (size_t i = 0; i < commits; i++) drawn[i] = &keys[(uint64_t)next_random() * keys_count >> 32];
    batches++;
    if (tuned) batch_tuned(&store, drawn, commits, slots);
    else batch_put(&store, drawn, commits, batches, slots);
    const double now = seconds_now();
    samples[(batches - 1) % SAMPLES_MOST] = now - end;
    end = now;
  } while (end - start < duration);

  MDB_val key = {keys[0].length, keys[0].bytes}, value;
  check("begin", mdb_txn_begin(store.env, NULL, MDB_RDONLY, &txn));
  check("get", mdb_get(txn, store.records, &key, &value));
  const size_t sampled = batches < SAMPLES_MOST ? batches : SAMPLES_MOST;
  qsort(samples, sampled, sizeof *samples, by_value);
  printf("{\"commits\":%zu,\"seconds\":%.6f,\"transactions\":%zu,\"microseconds\":[%.1f,%.1f,%.1f],\"record\":\"",
         batches * commits, end - start, batches, samples[sampled / 2] * 1e6, samples[sampled * 99 / 100] * 1e6,
         samples[sampled * 999 / 1000] * 1e6);
  for (size_t i = 0; i < value.mv_size; i++) printf("%02x", ((const uint8_t *)value.mv_data)[i]);
  printf("\"}\n");
  mdb_txn_abort(txn);
  mdb_env_close(store.env);
  free(samples);
  free(slots);
  free(drawn);
  free(keys);
  return 0;
}

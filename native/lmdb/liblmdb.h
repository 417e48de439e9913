/*
 * What native/lmdb/liblmdb.c adds to lmdb.h.
 *
 * Most of it is for a hard cap on the data file. This liblmdb has none of its own: where the map is full it
 * maps more, and its public figures are those of the last commit.
 */
#ifndef WAFSTATE_LIBLMDB_H
#define WAFSTATE_LIBLMDB_H

#include <lmdb.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Pages that the data file would have if the write transaction were committed now, before the list of free
 * pages is written.
 */
mdb_size_t wafstate_txn_pages(const MDB_txn* txn);

/*
 * From now on a commit of the calling thread that would write beyond so many bytes of the data file fails
 * with MDB_MAP_FULL and is undone; 0 = no cap. For what wafstate_txn_pages cannot foresee.
 */
void wafstate_cap_writes(mdb_size_t bytes);

/*
 * What a failed call of the calling thread failed for: the errno of a write, or MDB_MAP_FULL for the cap,
 * where LMDB says EIO; else `code`.
 */
int wafstate_cause(int code);

/*
 * From now on what the calling thread wants a lock of an environment for fails with ETIMEDOUT where it has
 * waited so long; 0 = it waits without end, as LMDB does. A process that is stopped keeps its locks.
 */
void wafstate_wait_at_most(unsigned milliseconds);

/* mdb_env_close, which in this liblmdb forgets the list of free pages that it keeps between transactions. */
void wafstate_env_close(MDB_env* env);

#ifdef __cplusplus
}
#endif

#endif

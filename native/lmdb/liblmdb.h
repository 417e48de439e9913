/* What native/lmdb/liblmdb.c adds to lmdb.h. */
#ifndef WAFSTATE_LIBLMDB_H
#define WAFSTATE_LIBLMDB_H

#include <lmdb.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Pages that the data file would have if the write transaction were committed now, before the list of free
 * pages is written. This liblmdb has no upper bound of its own: where the map is full it maps more. Its
 * public figures are those of the last commit, so a bound can be kept only with this one.
 */
mdb_size_t wafstate_txn_pages(const MDB_txn* txn);

#ifdef __cplusplus
}
#endif

#endif

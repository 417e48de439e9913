/* liblmdb as the lmdb package ships it, and the one figure that it keeps to itself. */
#include "mdb.c"

#include "liblmdb.h"

mdb_size_t wafstate_txn_pages(const MDB_txn *txn) { return txn->mt_next_pgno; }

import { PACKAGE_GATE_MAP_BYTES } from './layout.js';
import { openPackageEnvironment, type PackageEnvironment } from './lmdb-package.js';

/**
 * A second, empty environment whose write lock every open of the records' environment and every write transaction on it
 * holds, in all processes.
 *
 * liblmdb needs it because mdb_env_open2 stores the last transaction's number into the shared lock table without the write lock
 * (upstream ITS#9496). An open that read the meta page just before another process committed puts the number back, and the next write
 * transaction overwrites pages of commits that were acknowledged. The gate itself is safe from that: nothing is
 * ever committed in it, so its number never changes. It survives a killed holder, since its mutex is robust.
 */
export class Gate {
  readonly #environment: PackageEnvironment;

  private constructor(environment: PackageEnvironment) {
    this.#environment = environment;
  }

  /** `directory` was checked by `preflight`. */
  static open(directory: string, options: { readonly maxReaders: number; readonly mode: number }): Gate {
    return new Gate(
      openPackageEnvironment(directory, { ...options, mapSize: PACKAGE_GATE_MAP_BYTES, relaxed: true }),
    );
  }

  /** Runs `action` while no other process opens or writes. Waits for whoever does; a throw lets go, too. */
  inside<T>(action: () => T): T {
    return this.#environment.transactionSync(action);
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }
}

/** Rounds of collection after which the heap no longer shrinks: the first only marks what weak references held. */
const COLLECTIONS = 4;

/**
 * Bytes of the process that are resident once all garbage is gone. REQUIRES: node --expose-gc. Waits between collections, since
 * V8 gives pages back in the background.
 */
export async function settledResidentBytes(): Promise<number> {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) throw new Error('memory is measured in a process started with --expose-gc');
  for (let i = 0; i < COLLECTIONS; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage.rss();
}

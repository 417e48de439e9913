// An application behind a guard: one process, or a cluster of several that share one LMDB directory and one port. Prints the port, and ends
// when its standard input does.
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { Collections, openLmdb } from 'wafstate';
import { guard } from 'wafstate/guard';
import { loadRules } from 'wafstate/seclang';

const [path, processes, flush, ...files] = process.argv.slice(2);

async function serve() {
  const backend = await openLmdb({ path, cleanupInterval: 0 });
  const rules = loadRules(files);
  const guarding = guard({
    collections: new Collections({ backend, ...rules.collectionOptions }),
    rules,
    flush,
    trustedProxies: ['127.0.0.1'],
  });
  const server = createServer(
    guarding.handler((_request, response) => {
      response.setHeader('x-process', String(process.pid));
      response.end('app');
    }),
  );
  server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
  process.once('disconnect', async () => {
    server.closeAllConnections();
    server.close();
    await guarding.drain();
    await backend.close();
    process.exit(guarding.counters().flushFailures + guarding.counters().unavailable === 0 ? 0 : 1);
  });
}

if (cluster.isPrimary) {
  const workers = Array.from({ length: Number(processes) }, () => cluster.fork());
  let listening = 0;
  const statuses = workers.map(
    (worker) => new Promise((resolve) => worker.once('exit', (code, signal) => resolve(code ?? signal))),
  );
  for (const worker of workers) {
    worker.on('message', ({ port }) => {
      if (++listening === workers.length) process.stdout.write(`${port}\n`);
    });
  }
  process.stdin.resume();
  process.stdin.once('end', async () => {
    for (const worker of workers) worker.disconnect();
    const failed = (await Promise.all(statuses)).filter((status) => status !== 0);
    process.exit(failed.length === 0 ? 0 : 1);
  });
} else {
  await serve();
}

import type { IncomingMessage } from 'node:http';
import { hasBody } from './answer.js';

/** `whole`: all of it arrived. `encoded`: compressed, so that no rule could read it. `consumed`: somebody has read from it before. */
export type FormBody =
  | { readonly type: 'whole'; readonly bytes: Buffer }
  | { readonly type: 'too_large' | 'late' | 'aborted' | 'encoded' | 'consumed' };

const FORM = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i;

/** Whether the request has a body that rules read. */
export function hasForm(request: IncomingMessage): boolean {
  return hasBody(request) && FORM.test(request.headers['content-type'] ?? '');
}

/**
 * Waits for the whole body, at most `limit` bytes and `milliseconds`, and leaves all of it in the request for the application. It watches what
 * the parser pushes and reads nothing: a stream that was read to its end cannot be given back. Until the body is whole the
 * parser is told to go on, whatever the stream's own high-water mark says, since nobody reads meanwhile.
 */
export function readForm(
  request: IncomingMessage,
  { limit, milliseconds }: { readonly limit: number; readonly milliseconds: number },
  done: (body: FormBody) => void,
): void {
  const refusal = reasonAgainst(request, limit);
  if (refusal !== undefined) {
    done({ type: refusal });
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What came while somebody before the guard waited. In the same turn it is back, so the stream does not end.
  const early = request.readableLength > 0 ? (request.read() as Buffer) : undefined;
  if (early !== undefined) {
    request.unshift(early);
    chunks.push(early);
    bytes = early.length;
  }
  if (bytes > limit || request.complete) {
    done(bytes > limit ? { type: 'too_large' } : { type: 'whole', bytes: Buffer.concat(chunks) });
    return;
  }

  const push = request.push;
  const settle = (body: FormBody): void => {
    request.push = push;
    request.off('close', abort);
    clearTimeout(timer);
    // Out of the parser's call, which is not done with this request.
    process.nextTick(done, body);
  };
  const abort = (): void => settle({ type: 'aborted' });
  const timer = setTimeout(() => settle({ type: 'late' }), milliseconds);
  timer.unref();
  request.once('close', abort);
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    const wanted = push.call(request, chunk, encoding);
    if (chunk === null) {
      settle({ type: 'whole', bytes: Buffer.concat(chunks) });
      return wanted;
    }
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes <= limit) return true;
    settle({ type: 'too_large' });
    return wanted;
  };
}

/** What can be told before any of it has come. */
function reasonAgainst(
  request: IncomingMessage,
  limit: number,
): Exclude<FormBody['type'], 'whole' | 'late'> | undefined {
  const { headers } = request;
  if (!/^\s*(identity\s*)?$/i.test(headers['content-encoding'] ?? '')) return 'encoded';
  if (request.readableDidRead || request.readableEncoding !== null) return 'consumed';
  if (Number(headers['content-length'] ?? 0) > limit) return 'too_large';
  return request.destroyed ? 'aborted' : undefined;
}

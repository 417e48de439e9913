import type { Backend, CommitResult } from 'wafstate';

export function commit(
  backend: Backend,
  lane: string,
  sequence: number,
  pair: number,
): Promise<readonly CommitResult[]>;

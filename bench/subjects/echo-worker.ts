import { move } from 'piscina';

/** Gives the buffer back as it came. */
export default function echo(buffer: ArrayBuffer): unknown {
  return move(buffer);
}

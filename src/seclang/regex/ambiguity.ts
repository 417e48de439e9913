import { ALL, type ByteSet, type Node } from './syntax.js';

/** How long a backtracking engine may take, from the pattern alone. */
export interface Cost {
  /** Whether the time may grow exponentially with the input; nothing else holds then. */
  readonly exponential: boolean;
  /** Else the steps are at most `factor` times the input's length to the power of `degree`. */
  readonly degree: number;
  readonly factor: number;
}

/** More ways than this through the alternatives of a pattern count as too many. */
const MAX_FACTOR = 256;
/** A repetition with a wider range counts as one without a bound. */
const FEW = 8;

/**
 * A sound estimate of a backtracking engine's steps. A choice between going on in a repetition and leaving it, or between
 * two alternatives, costs nothing where the next byte decides it. Where it does not, each such repetition adds a power of the input's
 * length and each such alternative a factor; one inside of another repetition is taken as exponential.
 */
export function backtrackingCost(pattern: Node): Cost {
  const walk = new Walk();
  walk.visit(pattern, 0n);
  const degree = walk.undecided + (walk.decidedLoop ? 1 : 0) + (isAnchored(pattern) ? 0 : 1);
  return {
    exponential: walk.exponential || walk.factor > MAX_FACTOR,
    degree: Math.max(1, degree),
    factor: walk.factor,
  };
}

class Walk {
  exponential = false;
  /** Repetitions without a bound that no single byte ends. */
  undecided = 0;
  decidedLoop = false;
  factor = 1;
  readonly #first = new Map<Node, First>();

  /** `follow`: the bytes that what comes after may begin with. */
  visit(node: Node, follow: ByteSet): void {
    switch (node.type) {
      case 'set':
      case 'assertion':
        return;
      case 'back':
        this.exponential = true;
        return;
      case 'look': {
        const before = this.#marks();
        this.visit(node.item, ALL);
        if (this.#marks() !== before) this.exponential = true;
        return;
      }
      case 'capture':
        this.visit(node.item, follow);
        return;
      case 'sequence': {
        let after = follow;
        for (let index = node.items.length - 1; index >= 0; index--) {
          const item = node.items[index] as Node;
          this.visit(item, after);
          const { set, empty } = this.#firstOf(item);
          after = empty ? set | after : set;
        }
        return;
      }
      case 'choice':
        this.#choice(node.items, follow);
        return;
      case 'repeat':
        this.#repeat(node, follow);
        return;
    }
  }

  #choice(items: readonly Node[], follow: ByteSet): void {
    const starts = items.map((item) => {
      const { set, empty } = this.#firstOf(item);
      return empty ? set | follow : set;
    });
    let seen = 0n;
    let twice = 0n;
    for (const set of starts) {
      twice |= seen & set;
      seen |= set;
    }
    const rivals = starts.filter((set) => (set & twice) !== 0n).length;
    if (rivals > 1) this.factor = Math.min(this.factor * rivals, MAX_FACTOR + 1);
    // An empty alternative takes nothing, so no byte decides for it where something may fail behind it.
    for (const item of items) this.visit(item, follow);
  }

  #repeat({ item, least, most }: Extract<Node, { type: 'repeat' }>, follow: ByteSet): void {
    const { set, empty } = this.#firstOf(item);
    const before = this.#marks();
    this.visit(item, most > 1 ? set | follow : follow);
    if (most > 1 && (empty || this.#marks() !== before)) this.exponential = true;
    if (least === most) return;
    const wide = most - least > FEW;
    if ((set & follow) !== 0n) {
      if (wide) this.undecided++;
      else this.factor = Math.min(this.factor * (most - least + 1), MAX_FACTOR + 1);
    } else if (wide) this.decidedLoop = true;
  }

  /** Changes with everything that a byte does not decide. */
  #marks(): number {
    return this.undecided * (MAX_FACTOR + 2) + this.factor + (this.exponential ? 1e9 : 0);
  }

  #firstOf(node: Node): First {
    const known = this.#first.get(node);
    if (known !== undefined) return known;
    const first = this.#computeFirst(node);
    this.#first.set(node, first);
    return first;
  }

  #computeFirst(node: Node): First {
    switch (node.type) {
      case 'set':
        return { set: node.set, empty: false };
      case 'assertion':
        // Nothing comes after the end; what the others let pass is not looked into.
        return node.kind === 'end' ? { set: 0n, empty: false } : { set: ALL, empty: true };
      case 'look':
      case 'back':
        return { set: ALL, empty: true };
      case 'capture':
        return this.#firstOf(node.item);
      case 'repeat': {
        const { set, empty } = this.#firstOf(node.item);
        return { set, empty: empty || node.least === 0 };
      }
      case 'choice': {
        const firsts = node.items.map((item) => this.#firstOf(item));
        return {
          set: firsts.reduce((all, { set }) => all | set, 0n),
          empty: firsts.some(({ empty }) => empty),
        };
      }
      case 'sequence': {
        let set = 0n;
        for (const item of node.items) {
          const first = this.#firstOf(item);
          set |= first.set;
          if (!first.empty) return { set, empty: false };
        }
        return { set, empty: true };
      }
    }
  }
}

interface First {
  readonly set: ByteSet;
  /** Whether the node may match nothing. */
  readonly empty: boolean;
}

/** Whether the pattern can match at the input's first byte only. */
function isAnchored(node: Node): boolean {
  switch (node.type) {
    case 'assertion':
      return node.kind === 'start';
    case 'capture':
      return isAnchored(node.item);
    case 'choice':
      return node.items.every(isAnchored);
    case 'sequence':
      return node.items[0] !== undefined && isAnchored(node.items[0]);
    default:
      return false;
  }
}

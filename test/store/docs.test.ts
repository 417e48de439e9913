import { describe, expect, test } from 'vitest';
import { blocksOf, testExamples } from '../examples.js';

// The first example is whole; those after the second begin with the second.
const [whole, start, ...parts] = blocksOf('store.md') as [string, string, ...string[]];
const examples = [whole, ...parts.map((part) => start + part)];

describe('the examples of docs/store.md', () => {
  test('are there', () => {
    expect(examples.length).toBeGreaterThanOrEqual(9);
    expect(examples.join('').match(/\/\/ =>/g)?.length).toBeGreaterThanOrEqual(16);
  });

  testExamples(examples);
});

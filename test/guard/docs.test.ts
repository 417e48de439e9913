import { describe, expect, test } from 'vitest';
import { blocksOf, testExamples } from '../examples.js';

const examples = blocksOf('guard.md');

describe('the examples of docs/guard.md', () => {
  test('are there', () => {
    expect(examples).toHaveLength(1);
  });

  testExamples(examples);
});

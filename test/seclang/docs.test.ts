import { describe, expect, test } from 'vitest';
import { blocksOf, testExamples } from '../examples.js';

const examples = blocksOf('seclang.md');

describe('the examples of docs/seclang.md', () => {
  test('are there', () => {
    expect(examples).toHaveLength(2);
  });

  testExamples(examples);
});

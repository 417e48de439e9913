import { describe, expect, it } from 'vitest';
import {
  booleanOption,
  choiceOption,
  clockOption,
  nearestName,
  numberOption,
  refuseUnknownOptions,
} from '../../src/contract/options.js';

const BYTES = { initial: 2 ** 30, least: 2 ** 20, most: 2 ** 40, unit: 'bytes' };
const SECONDS = { initial: 60, least: 0, most: 86_400, unit: 'seconds', fractions: true };

describe('an option', () => {
  it('that is left out has its initial value', () => {
    expect(numberOption('openThing', 'mapSize', undefined, BYTES)).toBe(2 ** 30);
    expect(choiceOption('openThing', 'onFull', undefined, ['evict', 'refuse'])).toBe('evict');
    expect(booleanOption('openThing', 'create', undefined, true)).toBe(true);
  });

  it('that is given is taken as it is', () => {
    expect(numberOption('openThing', 'mapSize', 2 ** 20, BYTES)).toBe(2 ** 20);
    expect(numberOption('openThing', 'cleanupInterval', 0.5, SECONDS)).toBe(0.5);
    expect(choiceOption('openThing', 'onFull', 'refuse', ['evict', 'refuse'])).toBe('refuse');
    expect(booleanOption('openThing', 'create', false, true)).toBe(false);
  });

  it('does not stand in what is no object', () => {
    for (const given of [null, undefined, 5, 'mapSize']) {
      expect(() => refuseUnknownOptions('openThing', given as never, ['mapSize'])).toThrow(
        expect.objectContaining({
          code: 'invalid_option',
          message: expect.stringMatching(/^openThing takes an object of options, got .*mapSize$/),
        }),
      );
    }
  });

  it('that is a clock gives a bigint, as Date does not', () => {
    const clock = { now: () => 1n };
    expect(clockOption('openThing', clock)).toBe(clock);
    expect(clockOption('openThing', undefined).now()).toBeTypeOf('bigint');
    for (const given of [Date, null, 5, {}, { now: () => 1 }]) {
      expect(() => clockOption('openThing', given as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option', details: { option: 'clock' } }),
      );
    }
  });

  it('that is unknown is refused, naming the nearest known one', () => {
    expect(() => refuseUnknownOptions('openThing', { mapSize: 1 }, ['mapSize', 'path'])).not.toThrow();
    expect(() => refuseUnknownOptions('openThing', { mapsize: 1 }, ['mapSize', 'path'])).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: "openThing has no option 'mapsize'; did you mean 'mapSize'?",
        details: { option: 'mapsize' },
      }),
    );
    expect(() => refuseUnknownOptions('openThing', { frobnicate: 1 }, ['mapSize', 'path'])).toThrow(
      'its options are mapSize, path',
    );
  });

  it.each([
    1 << 32,
    2 ** 20 - 1,
    2 ** 40 + 1,
    2 ** 20 + 0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '1048576',
    null,
    1n,
  ])('of a whole number is not %s', (value) => {
    expect(() => numberOption('openThing', 'mapSize', value, BYTES)).toThrow(
      'openThing: mapSize must be an integer of bytes from 1048576 to 1099511627776, got',
    );
  });

  it.each([-0.1, 86_400.5, Number.NaN])('of a number with a fraction is not %s', (value) => {
    expect(() => numberOption('openThing', 'cleanupInterval', value, SECONDS)).toThrow(
      'must be a number of seconds',
    );
  });

  it('tells the bound that was met and the figure that met it', () => {
    expect(() => numberOption('openThing', 'mapSize', 7, BYTES)).toThrow(
      expect.objectContaining({ details: { option: 'mapSize', limit: 2 ** 20, actual: 7 } }),
    );
  });

  it('of a choice or a boolean is nothing else, and a given string is never quoted', () => {
    expect(() => choiceOption('openThing', 'onFull', 'hunter2', ['evict', 'refuse'])).toThrow(
      "openThing: onFull must be 'evict' or 'refuse', got another string",
    );
    expect(() => choiceOption('openThing', 'onFull', 'Refuse', ['evict', 'refuse'])).toThrow(
      "got another string; did you mean 'refuse'?",
    );
    expect(() => booleanOption('openThing', 'create', 1, true)).toThrow(
      'create must be true or false, got 1',
    );
  });
});

describe('the nearest name', () => {
  it.each([
    ['pth', 'path'],
    ['max_size', 'maxSize'],
    ['maxSzie', 'maxSize'],
    ['zebra', undefined],
  ])('to %s is %s', (name, nearest) => {
    expect(nearestName(name, ['path', 'maxSize', 'create'])).toBe(nearest);
  });
});

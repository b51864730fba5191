import { expect, it } from 'vitest';
import { quote } from '../src/quote.js';

it.each([
  ['plain-1.txt', 'plain-1.txt'],
  ['', "''"],
  ["it's $HOME", "'it'\\''s $HOME'"],
])('quotes %j so that a shell takes it as it is', (word, quoted) => {
  expect(quote(word)).toBe(quoted);
});

import { describe, expect, it } from 'vitest';
import { EnvelopeTracker, isConnectStream, unavailableFrame } from '../src/dial.js';
import { frame } from './raw-server.js';

describe('EnvelopeTracker', () => {
  it('knows the boundaries however the bytes are cut', () => {
    const frames = [frame(0, { a: 1 }), Buffer.alloc(5), frame(0, 'x'.repeat(300)), frame(2, {})];
    const bytes = Buffer.concat(frames);
    const boundaries = new Set<number>();
    let offset = 0;
    for (const one of frames) boundaries.add((offset += one.length));
    for (const size of [1, 2, 3, 7, 64, bytes.length]) {
      const tracker = new EnvelopeTracker();
      for (let at = 0; at < bytes.length; at += size) {
        const end = Math.min(at + size, bytes.length);
        tracker.push(bytes.subarray(at, end));
        expect(tracker.atBoundary, `after ${end} bytes in steps of ${size}`).toBe(boundaries.has(end));
        expect(tracker.ended).toBe(end === bytes.length);
      }
    }
  });

  it('starts at a boundary', () => {
    expect(new EnvelopeTracker().atBoundary).toBe(true);
  });

  it('reads lengths above 2 GiB as lengths', () => {
    const tracker = new EnvelopeTracker();
    tracker.push(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]));
    expect(tracker.atBoundary).toBe(false);
  });
});

it('writes the end of a stream whose sandbox went away', () => {
  const bytes = unavailableFrame('gone');
  expect(bytes[0]).toBe(2);
  expect(bytes.readUInt32BE(1)).toBe(bytes.length - 5);
  expect(JSON.parse(bytes.subarray(5).toString())).toEqual({
    error: { code: 'unavailable', message: 'gone' },
  });
});

it.each([
  ['application/connect+json', true],
  ['application/connect+proto', true],
  ['application/connect+json; charset=utf-8', true],
  ['application/json', false],
  ['application/connect+jsonx', false],
  [undefined, false],
])('decides if %s is a Connect stream', (type, expected) => {
  expect(isConnectStream(type)).toBe(expected);
});

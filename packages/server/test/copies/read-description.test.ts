import type { StoredObject } from '@svc/runtime/contract';
import { describe, expect, it } from 'vitest';
import { readDescription } from '../../src/cluster/copies/read-description.js';

const CHECKPOINT: StoredObject = { kind: 'checkpoint', id: 'c1' };
const LAYER: StoredObject = { kind: 'layer', id: 'l1' };
const BASE: StoredObject = { kind: 'base', id: 'trixie-0123456789ab-0123456789ab' };
const AGENT: StoredObject = { kind: 'agent', id: '0123456789abcdef' };

const read = (value: unknown, object = CHECKPOINT) => readDescription(JSON.stringify(value), object);

describe('what another server says of an object', () => {
  it('is its size and what it stands on; nothing else is taken over', () => {
    const needs = [AGENT, BASE, LAYER];
    const said = { kind: 'layer', id: 'other', sizeBytes: 7, needs, memory: true, more: 'x' };
    expect(read(said)).toEqual({ ...CHECKPOINT, sizeBytes: 7, needs });
    expect(read({ sizeBytes: 0, needs: [BASE] }, LAYER)).toEqual({ ...LAYER, sizeBytes: 0, needs: [BASE] });
  });

  it.each([
    ['itself', CHECKPOINT, CHECKPOINT],
    ['another one of its kind', LAYER, { kind: 'layer', id: 'l2' }],
    ['what comes after it', LAYER, CHECKPOINT],
    ['anything, for an agent', AGENT, { kind: 'agent', id: 'fedcba9876543210' }],
  ] as const)(
    'is refused when an object is to stand on %s: copies would wait for each other',
    (_, object, needed) => {
      expect(() => read({ sizeBytes: 1, needs: [needed] }, object)).toThrow('does not stand on');
    },
  );

  it.each([
    ['null', 'its description cannot be read'],
    ['7', 'its description cannot be read'],
    ['{', 'its description cannot be read'],
    ['{}', 'it has no size'],
    ['{"sizeBytes":-1,"needs":[]}', 'it has no size'],
    ['{"sizeBytes":"1","needs":[]}', 'it has no size'],
    ['{"sizeBytes":1e300,"needs":[]}', 'it has no size'],
    ['{"sizeBytes":1}', 'is no list'],
    ['{"sizeBytes":1,"needs":{"length":1}}', 'is no list'],
    [`{"sizeBytes":1,"needs":[${'7,'.repeat(1_000)}7]}`, 'is no list'],
    ['{"sizeBytes":1,"needs":[null]}', 'is no object'],
    ['{"sizeBytes":1,"needs":[{"kind":["layer"],"id":"l"}]}', 'is no object'],
    ['{"sizeBytes":1,"needs":[{"kind":"layer","id":"../l"}]}', 'no such stored object'],
  ])('is refused when it is %j', (text, why) => {
    expect(() => readDescription(text, CHECKPOINT)).toThrow(why);
  });
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createHeapRoom } from '../../src/system/heap-room.js';

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function room() {
  const heap = {
    size: MIB,
    grows: false,
    roomBytes: () => heap.size,
    mayGrow: (yes: boolean) => void (heap.grows = yes),
  };
  return { heap, ...createHeapRoom(heap) };
}

it('the heap has no more room for a little data', () => {
  const { heap, note } = room();
  note(MIB - 1);
  expect(heap.grows).toBe(false);
});

it('the heap may grow while bulk data runs, and no longer', () => {
  const { heap, note } = room();
  note(MIB);
  vi.advanceTimersByTime(900);
  note(MIB);
  vi.advanceTimersByTime(900);
  expect(heap.grows).toBe(true);
  vi.advanceTimersByTime(200);
  expect(heap.grows).toBe(false);
  note(MIB);
  expect(heap.grows).toBe(true);
});

it('the heap stops to grow once there is enough room', () => {
  const { heap, note } = room();
  note(MIB);
  heap.size = 8 * MIB;
  note(MIB);
  expect(heap.grows).toBe(false);
  note(10 * MIB);
  expect(heap.grows).toBe(false);
});

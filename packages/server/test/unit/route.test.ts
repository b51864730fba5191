import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '../../src/api/context/nodes.js';
import { NodeUnreachableError } from '../../src/cluster/nodes/node-unreachable.js';
import {
  type Destination,
  type Failure,
  follow,
  HERE,
  onNode,
  type Route,
  toNode,
} from '../../src/cluster/routing/route.js';

const node = (id: string): NodeRecord => ({ id, apiUrl: '', sandboxUrl: '', acknowledges: true });

/** Answers with the name of each destination, or fails there. */
const attempt = (failures: Record<string, unknown>) => async (destination: Destination) => {
  const name = destination.kind === 'node' ? destination.node.id : destination.kind;
  if (name in failures) throw failures[name];
  return name;
};

describe('a route', () => {
  it('continues until a destination answers, and learns how each one ended', async () => {
    const learnt: (Failure | undefined)[] = [];
    async function* route(): Route {
      for (const destination of [HERE, toNode(node('b')), toNode(node('c'))]) {
        const failure = yield destination;
        learnt.push(failure);
        if (failure === undefined) return undefined;
      }
      return learnt.at(-1);
    }
    const full = new Error('full');
    expect(await follow(route(), attempt({ here: full }))).toBe('b');
    expect(learnt).toEqual([{ error: full, at: HERE }, undefined]);
  });

  it('ends with the failure that it chooses, or throws', async () => {
    const first = new Error('first');
    async function* two(): Route {
      const failure = yield HERE;
      yield toNode(node('b'));
      return failure;
    }
    await expect(follow(two(), attempt({ here: first, b: new Error('second') }))).rejects.toBe(first);
    // biome-ignore lint/correctness/useYield: it finds nowhere to go
    async function* none(): Route {
      throw first;
    }
    await expect(follow(none(), attempt({}))).rejects.toBe(first);
  });

  it('to one node says 503 when that does not answer', async () => {
    const silent = new NodeUnreachableError('b', false, new Error('nothing listens'));
    await expect(follow(onNode(node('b')), attempt({ b: silent }))).rejects.toMatchObject({ status: 503 });
    expect(await follow(onNode(node('b')), attempt({}))).toBe('b');
  });
});

import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { NodeRecord } from '../../src/api/context/nodes.js';
import { type Offer, offer } from '../../src/cluster/fleet/offer.js';
import { NodeUnreachableError } from '../../src/cluster/nodes/node-unreachable.js';

const node = (id: string): NodeRecord => ({ id, apiUrl: '', sandboxUrl: '', acknowledges: true });

/** The reaction of a fake node to an offer: its status with a body, or a failure; and whether the records name it from then on. */
interface Played {
  status?: number;
  body?: string;
  failure?: Error;
  takes?: boolean;
}

/** Offers something of `home` to fake nodes in turn. */
async function offerTo(nodes: Record<string, Played>, given: Partial<Offer> = {}) {
  let home: string | undefined = 'home';
  const asked: string[] = [];
  const avoided: string[] = [];
  const context = {
    copies: {
      forwarder: {
        open: async ({ id }: NodeRecord) => {
          asked.push(id);
          const { status = 503, body = '', failure, takes = false } = nodes[id]!;
          if (takes) home = id;
          if (failure !== undefined) throw failure;
          const answer = new PassThrough();
          answer.end(body);
          return Object.assign(answer, { statusCode: status });
        },
      },
    },
    fleet: { avoid: (id: string) => avoided.push(id) },
    log: { warn: () => undefined },
  } as never as Parameters<typeof offer>[0];
  const offered = await offer(context, {
    nodes: Object.keys(nodes).map(node),
    path: '/node/thing/take',
    sizeBytes: 0,
    home: async () => home,
    signal: new AbortController().signal,
    ...given,
  });
  return { offered, asked, avoided };
}

const silence = (id: string) => new NodeUnreachableError(id, true, new Error('silent'));

it('asks one after another until the records say that one has it', async () => {
  const { offered, asked } = await offerTo({
    full: { status: 503, body: JSON.stringify({ code: 503, message: 'this server is full' }) },
    empty: { status: 204, takes: true },
    never: { status: 204, takes: true },
  });
  expect(offered).toEqual({ node: node('empty') });
  expect(asked).toEqual(['full', 'empty']);
});

it('believes the records alone: who lies has nothing, and who fell silent after it took it has it', async () => {
  expect((await offerTo({ liar: { status: 204 } })).offered).toEqual({
    node: undefined,
    refusals: ['server liar: it says that it has it, and has it not'],
  });
  const { offered, asked } = await offerTo({
    mute: { failure: silence('mute'), takes: true },
    never: { status: 204, takes: true },
  });
  expect(offered).toEqual({ node: node('mute') });
  expect(asked).toEqual(['mute']);
});

it('leaves out for a while who does not answer, and not who refuses', async () => {
  const { offered, avoided } = await offerTo({ mute: { failure: silence('mute') }, full: { status: 503 } });
  expect(avoided).toEqual(['mute']);
  expect(offered).toEqual({
    node: undefined,
    refusals: ['server mute: it does not answer', 'server full: it refuses (503)'],
  });
});

it.each([
  ['no JSON', 'words', 'it refuses (500)'],
  ['nothing', 'null', 'it refuses (500)'],
  ['no text', '{"message":{"a":1}}', 'it refuses (500)'],
  ['control characters', JSON.stringify({ message: 'a\u001b[2Jb\nc' }), 'a [2Jb c'],
  ['a long text', JSON.stringify({ message: 'x'.repeat(5_000) }), 'x'.repeat(300)],
  ['more than is read', JSON.stringify({ message: 'x'.repeat(50_000) }), 'it refuses (500)'],
])('shows of a refusal that holds %s no more than is fit to be shown', async (_, body, shown) => {
  const { offered } = await offerTo({ odd: { status: 500, body } });
  expect(offered).toEqual({ node: undefined, refusals: [`server odd: ${shown}`] });
});

it('asks nobody else once it is to stop', async () => {
  expect((await offerTo({ empty: { takes: true } }, { signal: AbortSignal.abort() })).asked).toEqual([]);
});

import type { MessageInitShape } from '@bufbuild/protobuf';
import { describe, expectTypeOf, it } from 'vitest';
import type { StartRequestSchema } from '../src/gen.js';
import { createDaemonClient, type EntryInfo, type StartResponse, type WrittenFile } from '../src/index.js';

type StartInit = MessageInitShape<typeof StartRequestSchema>;

describe('the daemon client', () => {
  const client = createDaemonClient({ baseUrl: 'http://sandbox.test', sandboxId: 'ibox' });

  it('types calls by the protocol', () => {
    expectTypeOf<ReturnType<typeof client.process.start>>().toEqualTypeOf<AsyncIterable<StartResponse>>();
    expectTypeOf<EntryInfo['size']>().toEqualTypeOf<bigint>();
    expectTypeOf<{ process: { cmd: string } }>().toExtend<StartInit>();
    expectTypeOf<{ process: { cmd: number } }>().not.toExtend<StartInit>();
  });

  it('does not ask for the headers that it sends itself', () => {
    void (() => client.http.GET('/health'));
    void (() => client.http.GET('/files', { params: { query: { path: '/x' } }, parseAs: 'stream' }));
    // @ts-expect-error there is no such route
    void (() => client.http.GET('/init'));
    expectTypeOf<WrittenFile['path']>().toEqualTypeOf<string>();
  });

  it('needs an address and a sandbox', () => {
    // @ts-expect-error sandboxId is required
    void (() => createDaemonClient({ baseUrl: 'http://sandbox.test' }));
  });
});

import { expectTypeOf, it } from 'vitest';
import {
  type Client,
  type CommandEvent,
  type CommandResult,
  type ForkResult,
  NotFoundError,
  type Page,
  Sandbox,
  type SandboxInfo,
  SandboxNotFoundError,
  SvcError,
} from '../src/index.js';

declare const sandbox: Sandbox;
declare const client: Client;

it('creates without options and with either form', () => {
  expectTypeOf(Sandbox.create()).resolves.toEqualTypeOf<Sandbox>();
  expectTypeOf(client.sandboxes.create('base', { timeoutMs: 1 })).resolves.toEqualTypeOf<Sandbox>();
  expectTypeOf(
    client.sandboxes.create({ metadata: { a: 'b' }, signal: undefined }),
  ).resolves.toEqualTypeOf<Sandbox>();
  // @ts-expect-error seconds are not what times are in
  client.sandboxes.create({ timeout: 1 });
  // @ts-expect-error the template is named once
  client.sandboxes.create('base', { template: 'other' });
});

it('gives lists as pages and as items', () => {
  const list = client.sandboxes.list();
  expectTypeOf<Awaited<typeof list>>().toEqualTypeOf<Page<SandboxInfo>>();
  expectTypeOf(list[Symbol.asyncIterator]).returns.toEqualTypeOf<
    AsyncGenerator<SandboxInfo, void, undefined>
  >();
});

it('tells events and forks apart by their fields', () => {
  expectTypeOf<Extract<CommandEvent, { type: 'stdout' | 'stderr' }>['data']>().toEqualTypeOf<Uint8Array>();
  expectTypeOf<Extract<CommandEvent, { type: 'reattached' }>>().not.toHaveProperty('data');
  expectTypeOf<Extract<ForkResult<Sandbox>, { ok: false }>['error']>().toEqualTypeOf<SvcError>();
});

it('narrows errors by their class', () => {
  const error: unknown = undefined;
  if (SandboxNotFoundError.is(error)) expectTypeOf(error).toEqualTypeOf<SandboxNotFoundError>();
  if (NotFoundError.is(error)) expectTypeOf(error).toEqualTypeOf<NotFoundError>();
  if (SvcError.is(error)) expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
});

it('runs commands', () => {
  expectTypeOf(sandbox.commands.run('x')).resolves.toEqualTypeOf<CommandResult>();
  expectTypeOf(sandbox.$`x ${1} ${['a']}`).resolves.toEqualTypeOf<CommandResult>();
  // @ts-expect-error objects have no place in a command line
  sandbox.$`x ${{}}`;
});
